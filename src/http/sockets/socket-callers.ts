/**
 * Who calls over a socket. The caller is identified before the upgrade, and again before each exchange: keys that were
 * revoked and tokens that have expired do not live on in open sockets.
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
  /** The upgrade, without what identified it. */
  readonly request: RuntimeRequest
  readonly caller: Caller
  /** The caller as it is now. */
  readonly again: Effect.Effect<Caller, RouteError>
  /** Closes the accepted socket when the credential is revoked, if operators want that. */
  readonly watch: (socket: ClientSocket) => void
}

export const makeSocketCallers = Effect.gen(function* () {
  const { authenticate, anyCaller, again } = yield* makeAuthenticate
  const { watch } = yield* makeRevocation

  return {
    /** @param withCredential puts a credential of another API where twp/1 has it */
    first: Effect.fnUntraced(function* (
      upgrade: Upgrade,
      withCredential: (request: RuntimeRequest) => RuntimeRequest = (request) => request,
    ): Effect.fn.Return<SocketCaller, RouteError> {
      const request = withCredential(withProtocolToken(upgrade))
      const { caller } = yield* authenticate(anyCaller, request, noBody)
      // The signature is the upgrade's, and is not valid as long as a socket may be open.
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
