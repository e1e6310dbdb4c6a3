/**
 * The way to connect to an address of the catalogue, if it differs from the machine's: through a proxy of its own, with more
 * certificate authorities, or with a client certificate.
 */
import { createHash, X509Certificate } from "node:crypto"
import { createSecureContext } from "node:tls"
import { Schema } from "effect"
import type { NetworkFields } from "../protocol/catalogue/network.ts"
import { SecretRef } from "../protocol/catalogue/values.ts"
import { type HttpProxy, parseProxy } from "../protocol/values/proxy.ts"

export interface Network {
  /** A key that is equal for equal settings: these share connections. */
  readonly key: string
  /** Absent: the one of the environment, if any. */
  readonly proxy: HttpProxy | "none" | undefined
  /** The certificates and the key, in PEM; certificate authorities are in addition to the machine's. */
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string }
  /** The reason why no connection can be made. */
  readonly problem: string | undefined
}

/**
 * Reads the network settings of a catalogue's entry; undefined if it has none.
 *
 * @param resolve the secret at a reference
 */
export const readNetwork = (
  { proxy, tls }: NetworkFields,
  resolve: (ref: string) => string | undefined,
): Network | undefined => {
  if (proxy === undefined && tls === undefined) return undefined
  const problems: Array<string> = []
  const textOf = (value: string | undefined): string | undefined => {
    if (value === undefined || !isReference(value)) return value
    const found = resolve(value)
    if (found === undefined) problems.push(`there is nothing at ${value}`)
    return found
  }
  const proxyText = textOf(proxy)
  const parsed = proxyText === undefined || proxyText === "none" ? undefined : parseProxy(proxyText)
  if (proxyText !== undefined && proxyText !== "none" && parsed === undefined) problems.push("its proxy is not a URL")
  const [ca, cert, key] = [textOf(tls?.ca), textOf(tls?.cert), textOf(tls?.key)]
  const pem = {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  }
  if ((cert === undefined) !== (key === undefined)) problems.push("tls needs both cert and key, or neither")
  else if (tls !== undefined && !isUsable(pem)) problems.push("its tls has no valid certificate and key in PEM")
  return {
    key: createHash("sha256")
      .update(JSON.stringify([proxyText, ca, cert, key]))
      .digest("base64url"),
    proxy: proxyText === "none" ? "none" : parsed,
    tls: pem,
    problem: problems[0],
  }
}

/** References of an entry's network. */
export const networkReferences = ({ proxy, tls }: NetworkFields): ReadonlyArray<string> =>
  [proxy, tls?.ca, tls?.cert, tls?.key].flatMap((value) => (value !== undefined && isReference(value) ? [value] : []))

/** Whether a field that may be a reference is one. */
export const isReference = Schema.is(SecretRef)

const isUsable = (pem: Network["tls"]): boolean => {
  try {
    // The context ignores authorities that it cannot read.
    if (pem.ca !== undefined) new X509Certificate(pem.ca)
    createSecureContext(pem)
    return true
  } catch {
    return false
  }
}
