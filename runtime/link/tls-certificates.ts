// The certificates of the policy link. Each host has an authority of its own, which signs the
// host's certificate and one for each robot it is paired with. Names in them are fixed and no date
// makes one void: the clocks of robots are wrong too often, so what is void is listed, by key.
// Curve P-256, the one that every TLS library has.

import { createHash, randomBytes, X509Certificate } from "node:crypto";
import type { X509Certificate as AnyCertificate } from "@peculiar/x509";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  Pkcs10CertificateRequest,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
  // Its other build, bundled with --bytecode, runs tsyringe before the polyfill that tsyringe wants
  // (bun 1.4.5): the binary would start no pairing and no TLS.
} from "@peculiar/x509/build/x509.cjs.js";
import type { Extension } from "@peculiar/x509";

/** What every host's certificate is for, whatever its address: .internal is nobody's domain. */
export const HOST_TLS_NAME = "host.holdfast.internal";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const AUTHORITY_NAME = "CN=holdfast authority";
/** What clocks must lie between. */
export const VALID_FROM_MS = Date.UTC(2020, 0, 1);
export const VALID_UNTIL_MS = Date.UTC(2046, 0, 1);
const SERIAL_SIZE_BYTES = 16;

/** A moment as a person reads it. */
export const clockText = (wallMs: number): string =>
  new Date(wallMs).toISOString().slice(0, 16).replace("T", " ");

/** Both in PEM. */
export type KeyPair = { readonly key: string; readonly certificate: string };

export type HostIdentity = { readonly authority: KeyPair; readonly host: KeyPair };

/** Makes a host's authority and its own certificate. */
export async function makeIdentity(): Promise<HostIdentity> {
  const keys = await makeKeys();
  const authority = {
    key: await keyText(keys.privateKey),
    certificate: await sign(AUTHORITY_NAME, keys.publicKey, keys.privateKey, [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
    ]),
  };
  const own = await makeKeys();
  const certificate = await sign(`CN=${HOST_TLS_NAME}`, own.publicKey, keys.privateKey, [
    ...leaf(ExtendedKeyUsage.serverAuth),
    new SubjectAlternativeNameExtension([{ type: "dns", value: HOST_TLS_NAME }]),
  ]);
  return { authority, host: { key: await keyText(own.privateKey), certificate } };
}

/** A robot's new key, and the request that carries its public half away. */
export async function makeRequest(): Promise<{ readonly key: string; readonly request: string }> {
  const keys = await makeKeys();
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: "CN=robot",
    keys,
    signingAlgorithm: ALGORITHM,
  });
  return { key: await keyText(keys.privateKey), request: request.toString("pem") };
}

/** Of the key in a request; undefined when it is none, or not signed by that key. */
export async function requestFingerprint(request: string): Promise<string | undefined> {
  try {
    const read = new Pkcs10CertificateRequest(request);
    if (!(await read.verify())) return undefined;
    return fingerprint(Buffer.from(read.publicKey.rawData));
  } catch {
    return undefined; // whatever a stranger sent: the library has no error of its own
  }
}

/** A certificate for a robot. Of the request only the key is taken; the rest is ours. */
export async function signRequest(authority: KeyPair, request: string): Promise<string> {
  const { publicKey } = new Pkcs10CertificateRequest(request);
  const encoded = PemConverter.decodeFirst(authority.key);
  const key = await crypto.subtle.importKey("pkcs8", encoded, ALGORITHM, false, ["sign"]);
  const usable = await publicKey.export(ALGORITHM, ["verify"]);
  return sign("CN=robot", usable, key, leaf(ExtendedKeyUsage.clientAuth));
}

/** Of the public key in a certificate, PEM or DER. */
export function certificateFingerprint(certificate: string | Uint8Array): string {
  const { publicKey } = new X509Certificate(certificate);
  return fingerprint(publicKey.export({ type: "spki", format: "der" }));
}

const fingerprint = (publicKey: Uint8Array): string =>
  `SHA256:${createHash("sha256").update(publicKey).digest("base64url")}`;

const leaf = (usage: ExtendedKeyUsage): Extension[] => [
  new BasicConstraintsExtension(false, undefined, true),
  new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
  new ExtendedKeyUsageExtension([usage], true),
];

const makeKeys = (): Promise<CryptoKeyPair> =>
  crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);

const keyText = async (key: CryptoKey): Promise<string> =>
  PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY");

async function sign(
  subject: string,
  publicKey: CryptoKey,
  signingKey: CryptoKey,
  extensions: Extension[],
): Promise<string> {
  const serial = randomBytes(SERIAL_SIZE_BYTES);
  serial[0] = 0x40 | (serial[0]! & 0x3f); // positive, and of full length
  const certificate: AnyCertificate = await X509CertificateGenerator.create({
    serialNumber: serial.toString("hex"),
    issuer: AUTHORITY_NAME,
    subject,
    notBefore: new Date(VALID_FROM_MS),
    notAfter: new Date(VALID_UNTIL_MS),
    publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    extensions,
  });
  return certificate.toString("pem");
}
