/** The way in which connections to an address are made, if it differs from the machine's. */
import { Schema } from "effect"
import { referenceForms, referencePattern } from "../values/secret-ref.ts"
import { SecretRef } from "./values.ts"

/** Certificates, or a reference to them. They are no secret, so the catalogue may contain them. */
const Certificates = Schema.String.check(
  Schema.isPattern(new RegExp(`^(${referencePattern}|-----BEGIN CERTIFICATE-----[\\s\\S]+)$`), {
    expected: `certificates in PEM, or ${referenceForms}`,
  }),
  Schema.isMaxLength(65_536),
)

export const network = {
  /** A proxy as a URL without a password, or a reference to a URL with one; `none` for none at all. */
  proxy: Schema.optionalKey(
    Schema.String.check(
      Schema.isPattern(new RegExp(`^(none|${referencePattern}|https?://[^\\s/?#@]+/?)$`), {
        expected: `none, an http(s) URL without a password, or ${referenceForms}`,
      }),
    ),
  ),
  tls: Schema.optionalKey(
    Schema.Struct({
      /** Certificate authorities in addition to the machine's. */
      ca: Schema.optionalKey(Certificates),
      /** A client certificate with its chain, and its key. */
      cert: Schema.optionalKey(Certificates),
      /** The key of the client certificate. */
      key: Schema.optionalKey(SecretRef),
    }),
  ),
}

/** How connections to an address are made, where it differs from the machine's way. */
const NetworkFields = Schema.Struct(network)
export type NetworkFields = typeof NetworkFields.Type
