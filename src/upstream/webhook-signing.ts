/**
 * The signature of a request to a receiver: HMAC-SHA256 over its id, its time and its body.
 * Source: Standard Webhooks, https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
import { createHmac, randomBytes } from "node:crypto"

const prefix = "whsec_"

/** A secret of 32 random bytes, as receivers' libraries expect it. */
export const mintWebhookSecret = (): string => prefix + randomBytes(32).toString("base64")

/**
 * The headers of one attempt. A receiver accepts a delivery if one of its signatures is right.
 *
 * @param secrets the secret, and the one before it while it is rotated
 * @param seconds since the epoch, of this attempt
 */
export const signedHeaders = (
  secrets: ReadonlyArray<string>,
  id: string,
  seconds: number,
  body: string,
): Readonly<Record<string, string>> => {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), "base64")
    return `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`
  })
  return { "webhook-id": id, "webhook-timestamp": `${seconds}`, "webhook-signature": signatures.join(" ") }
}
