// What `import text from "x.hex" with { type: "text" }` gives: the image as Intel HEX text, from
// beside the source or from inside the compiled binary.

declare module "*.hex" {
  const text: string;
  export default text;
}
