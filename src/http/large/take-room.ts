/** Requests that need room for their bodies. */
import { Effect, type Scope } from "effect"
import type { ServiceError } from "../../protocol/error.ts"
import type { RuntimeRequest } from "../caller-request.ts"
import { type LargeRequests, largeBytes } from "./large-requests.ts"
import type { Room } from "./room.ts"

/** Takes room until the scope closes, unless that was done before; a body that is small for sure needs none. */
export const takeRoom = (
  large: LargeRequests["Service"],
  request: RuntimeRequest,
): Effect.Effect<Room | undefined, ServiceError<"rate_limited">, Scope.Scope> =>
  request.room === undefined && mayBeLarge(request) ? large.reserve(lengthOf(request)) : Effect.succeed(request.room)

/** Whether a body is large, or its size is known only at its end. */
export const mayBeLarge = (request: RuntimeRequest): boolean =>
  lengthOf(request) >= largeBytes ||
  request.headers["transfer-encoding"] !== undefined ||
  request.headers["content-encoding"] !== undefined

const lengthOf = ({ headers }: RuntimeRequest): number => Number(headers["content-length"] ?? 0)
