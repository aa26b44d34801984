// The wiring of an Uno or Nano with the e-stop's image, as people see it before they flash one.
// README.md beside this file has the same drawing.

export const WIRING = `\
          5 V ──────────────── relay modules, VCC
          GND ──────────────── relay modules, GND, and one side of every switch

  D4  enable A ──┬──────────── relay A, input (closes when high)
                [10 k]
                GND
  D5  enable B ──┬──────────── relay B, input (closes when high)
                [10 k]         both contacts in series in the robot's power, or in STO 1 and 2
                GND
  D6  read-back A ──────────── contact of relay A that is closed at rest, to GND
  D7  read-back B ──────────── contact of relay B that is closed at rest, to GND
  D8  button A ─────────────── first channel of the e-stop button, closed at rest, to GND
  D9  button B ─────────────── second channel, closed at rest, to GND
  D10 limit chain ──────────── limit switches in series, closed at rest, to GND
  D11 reset ────────────────── reset button, open at rest, to GND
`;
