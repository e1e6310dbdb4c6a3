/** The credential of a vendor call, and the error if the gateway has none: for requests, jobs and sockets. */
import { Effect, Redacted, Result } from "effect"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import { IdentityFailed } from "../../cloud-identities/identity.ts"
import type { SentRequest } from "../../dialects/wire.ts"
import type { VendorClient } from "../../upstream/client.ts"
import { missingCode, VendorRejected } from "./errors.ts"
import { wholeBody } from "./whole-body.ts"

export const credentialMissing = new VendorRejected({ status: 401, code: missingCode, blame: "credential" })

/** Whether a target needs a credential and has none. */
export const lacksCredential = ({ vendor, credential, identity, isOwn }: CallTarget): boolean =>
  credential === undefined &&
  identity === undefined &&
  (isOwn || [vendor.credential, vendor.aws, vendor.google, vendor.azure].some((way) => way !== undefined))

type Headers = Readonly<Record<string, string>>
type Outgoing = Pick<SentRequest, "path" | "body">

/** The headers that carry a target's credential, if they are available at once; those of an identity may take time. */
export const authorizationOf = (
  client: VendorClient["Service"],
  { vendor, dialect, credential, identity, network, isGuarded }: CallTarget,
  request: Outgoing,
): Headers | Promise<Result.Result<Headers, VendorRejected>> => {
  if (identity === undefined) return credential === undefined ? {} : dialect.authorize(Redacted.value(credential))
  const outgoing = { baseUrl: vendor.baseUrl, path: request.path, body: textOf(request) }
  return identity
    .authorize(outgoing, { client, network, isGuarded })
    .then(Result.succeed, (cause: unknown) => Result.fail(withoutIdentity(cause)))
}

/**
 * The headers that carry a target's credential, for a call that waits for them. Fails if the target lacks its credential, or
 * its identity now.
 */
export const authorize = (
  client: VendorClient["Service"],
  target: CallTarget,
  request: Outgoing,
): Effect.Effect<Headers, VendorRejected> =>
  Effect.suspend(() => {
    if (lacksCredential(target)) return Effect.fail(credentialMissing)
    const headers = authorizationOf(client, target, request)
    return headers instanceof Promise
      ? Effect.flatMap(
          Effect.promise(() => headers),
          Effect.fromResult,
        )
      : Effect.succeed(headers)
  })

/** The reason is for operators only: the log and the check of a vendor show it. */
const withoutIdentity = (cause: unknown): VendorRejected =>
  cause instanceof IdentityFailed
    ? new VendorRejected({ status: 401, code: missingCode, blame: "credential", reason: cause.sentence })
    : credentialMissing

/** Only requests with JSON are signed. */
const textOf = ({ body }: Outgoing): string => {
  if (typeof body === "string") return body
  return body instanceof Uint8Array ? wholeBody([body]).toString("utf8") : ""
}
