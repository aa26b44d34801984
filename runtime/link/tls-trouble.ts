// Why a handshake failed, and what a person does about it. Certificates are good from 2020 to 2046,
// so one that is out of its time means a clock that is wrong, and the clock is named.

import { clockText, VALID_FROM_MS, VALID_UNTIL_MS } from "./tls-certificates.ts";
import { REVOKED_HERE } from "./tls-trust.ts";

/** What was expected, with what to do, and what was found. */
export type TlsTrouble = { readonly expected: string; readonly found: string };

const PAIR_AGAIN = "pair again: on the host type holdfast pair host";

const foreign: TlsTrouble = {
  expected: `the host that this robot is paired with (if it is, ${PAIR_AGAIN})`,
  found: "the certificate of another authority",
};
const wrongName: TlsTrouble = {
  expected: `a certificate of a policy host (${PAIR_AGAIN})`,
  found: "one that is for something else",
};

/** By the code of the error that ended the handshake. */
const troubles: Readonly<Record<string, TlsTrouble>> = {
  SELF_SIGNED_CERT_IN_CHAIN: foreign,
  DEPTH_ZERO_SELF_SIGNED_CERT: foreign,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: foreign,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: foreign,
  CERT_SIGNATURE_FAILURE: foreign,
  INVALID_PURPOSE: wrongName,
  ERR_TLS_CERT_ALTNAME_INVALID: wrongName,
  [REVOKED_HERE]: {
    expected: `a host that was not revoked here (${PAIR_AGAIN})`,
    found: "one that was, by holdfast pair revoke",
  },
  ERR_SSL_WRONG_VERSION_NUMBER: {
    expected: "a host that speaks TLS: there type holdfast host --listen 0.0.0.0:7777",
    found: "one that does not",
  },
};

/** The host took our part of the handshake and hung up. */
export const REFUSED_BY_HOST: TlsTrouble = {
  expected: `a certificate that the host takes, and a right clock there (${PAIR_AGAIN})`,
  found: "that the host refused this robot's",
};

const outOfTime = new Set(["CERT_NOT_YET_VALID", "CERT_HAS_EXPIRED"]);

/** Undefined for errors that are no matter of certificates. */
export function tlsTrouble(code: string, wallMs: number): TlsTrouble | undefined {
  if (!outOfTime.has(code)) return Object.hasOwn(troubles, code) ? troubles[code] : undefined;
  return (
    clockTrouble(wallMs) ?? {
      expected: `a certificate from 2020 to 2046 (${PAIR_AGAIN})`,
      found: `one of another time, and a clock here that says ${clockText(wallMs)}`,
    }
  );
}

/** What is wrong with a clock with which no certificate is good; undefined when it will do. */
export function clockTrouble(wallMs: number): TlsTrouble | undefined {
  if (wallMs >= VALID_FROM_MS && wallMs < VALID_UNTIL_MS) return undefined;
  return {
    expected: "a clock between 2020 and 2046 (set this machine's: timedatectl set-time)",
    found: `one that says ${clockText(wallMs)}`,
  };
}
