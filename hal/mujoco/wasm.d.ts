// What `import path from "x.wasm" with { type: "file" }` gives: the path of the file, beside the
// source or inside the compiled binary.

declare module "*.wasm" {
  const path: string;
  export default path;
}
