/**
 * The callers of sockets. A caller is identified before the upgrade, and again before each exchange: keys that were revoked
 * and tokens that have expired are not valid in open sockets.
 */
import { Effect } from "effect"
import type { Caller } from "../../identity/caller.ts"
import { makeAuthenticate } from "../authenticate.ts"
import type { RuntimeRequest } from "../caller-request.ts"
import type { RouteError } from "../respond.ts"
import { makeRevocation } from "../revocation.ts"
import type { ClientSocket } from "./client-socket.ts"
import type { Upgrade } from "./upgrades.ts"

export interface SocketCaller {
  /** The upgrade, without the credential that identified it. */
  readonly request: RuntimeRequest
  readonly caller: Caller
  /** Reads the caller as it is now. */
  readonly again: Effect.Effect<Caller, RouteError>
  /** Closes the accepted socket when the credential is revoked, if operators want that. */
  readonly watch: (socket: ClientSocket) => void
}

export const makeSocketCallers = Effect.gen(function* () {
  const { authenticate, anyCaller, again } = yield* makeAuthenticate
  const { watch } = yield* makeRevocation

  return {
    /** @param withCredential moves a credential of another API to the headers of twp/1 */
    first: Effect.fnUntraced(function* (
      upgrade: Upgrade,
      withCredential: (request: RuntimeRequest) => RuntimeRequest = (request) => request,
    ): Effect.fn.Return<SocketCaller, RouteError> {
      const request = withCredential(withProtocolToken(upgrade))
      const { caller } = yield* authenticate(anyCaller, request, () => noBody)
      // A signature is for the upgrade, and expires before the socket ends.
      const now = again(request)
      return { request, caller, again: now, watch: (socket) => watch(now, socket) }
    }),
  }
})

const noBody = Effect.succeed({ content: undefined, signed: Buffer.alloc(0) })

/** Browsers cannot send headers with an upgrade, and a query is logged by proxies: a subprotocol carries the token. */
const tokenProtocol = "x-svc-app-token."

const withProtocolToken = ({ request, protocols }: Upgrade): RuntimeRequest => {
  const token = protocols.find((name) => name.startsWith(tokenProtocol))?.slice(tokenProtocol.length)
  if (token === undefined || request.headers["x-svc-app-token"] !== undefined) return request
  return { ...request, headers: { ...request.headers, "x-svc-app-token": token } }
}
