/** Routes of the device login. Source: RFC 8628. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { WeirConfig } from "../../config.ts"
import type { Principal } from "../../identity/bearers.ts"
import { DeviceLogin, deviceTtlS, pollIntervalS } from "../../identity/device-login.ts"
import { Api } from "../../protocol/api.ts"
import {
  type DeviceCode,
  DeviceCodeRequest,
  type DeviceDecided,
  DeviceDecision,
  DeviceTokenRequest,
} from "../../protocol/control/device.ts"
import { serviceError } from "../../protocol/error.ts"
import { makeAnonymousRoutes, maxLoginBytes, tokenReply } from "../anonymous.ts"
import { makeForBearer } from "../bearer.ts"
import { originOf, type Request, readJson } from "../request.ts"
import { respondJson } from "../respond.ts"

export const deviceRoutes = HttpApiBuilder.group(
  Api,
  "device",
  Effect.fn(function* (handlers) {
    const { respondAnonymous, admitAddress } = yield* makeAnonymousRoutes
    const { forPrincipal } = yield* makeForBearer
    const devices = yield* DeviceLogin
    const config = yield* WeirConfig

    const start = Effect.fnUntraced(function* (request: Request) {
      const { clientName, scope } = yield* readJson(DeviceCodeRequest, request, maxLoginBytes)
      const { deviceCode, userCode } = yield* devices.start(clientName, scope)
      const verificationUri = `${originOf(config, request)}/activate`
      return {
        deviceCode,
        userCode,
        verificationUri,
        verificationUriComplete: `${verificationUri}?code=${userCode}`,
        expiresIn: deviceTtlS,
        interval: pollIntervalS,
      } satisfies DeviceCode
    })

    const poll = Effect.fnUntraced(function* (request: Request) {
      const { deviceCode } = yield* readJson(DeviceTokenRequest, request, maxLoginBytes)
      return tokenReply(yield* devices.poll(deviceCode))
    })

    const decide = Effect.fnUntraced(function* (request: Request, { hasLoggedIn, person, orgId }: Principal) {
      yield* admitAddress(request)
      if (!hasLoggedIn || person === undefined)
        return yield* serviceError("forbidden", "A login is required to approve or deny devices")
      const { userCode, approve } = yield* readJson(DeviceDecision, request, maxLoginBytes)
      yield* devices.decide(userCode, { userId: person.id, orgId }, approve)
      return { status: approve ? "approved" : "denied" } satisfies DeviceDecided
    })

    return (
      handlers
        .handleRaw("deviceCode", ({ request }) => respondAnonymous(request, start(request)))
        // Device codes cannot be guessed, and polling has its own limit: the strict limit would only hurt shared
        // addresses.
        .handleRaw("deviceToken", ({ request }) => respondJson(poll(request)))
        .handleRaw("deviceDecision", ({ request }) => forPrincipal(request, (principal) => decide(request, principal)))
    )
  }),
)
