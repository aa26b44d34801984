// The certificates of the policy link. Each host has an authority of its own, which signs the
// host's certificate and one for each robot it is paired with. Names in them are fixed and no date
// makes one void: the clocks of robots are wrong too often, so what is void is listed, by key.
// Curve P-256, the one that every TLS library has.

import { randomBytes } from "node:crypto";
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
  // (bun 1.4.5): the binary would end with a bug at the first pairing.
} from "@peculiar/x509/build/x509.cjs.js";
import type { Extension } from "@peculiar/x509";
import {
  HOST_TLS_NAME,
  keyFingerprint,
  VALID_FROM_MS,
  VALID_UNTIL_MS,
} from "./tls-certificates.ts";
import type { HostIdentity, KeyPair } from "./tls-certificates.ts";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const AUTHORITY_NAME = "CN=holdfast authority";
const SERIAL_SIZE_BYTES = 16;

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
    return keyFingerprint(Buffer.from(read.publicKey.rawData));
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
