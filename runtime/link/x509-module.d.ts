// The library's types for the one of its builds that is used: `tls-authority.ts` says why. The
// library itself gives types to its main entry only.

declare module "@peculiar/x509/build/x509.cjs.js" {
  export * from "@peculiar/x509";
}
