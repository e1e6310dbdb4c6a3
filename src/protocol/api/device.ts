/** Routes of the device login. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { DeviceCode, DeviceCodeRequest, DeviceDecided, DeviceDecision, DeviceTokenRequest } from "../device.ts"
import { TokenReply } from "../login.ts"
import { errorsOf, everywhere, strictErrors } from "./errors.ts"
import { header } from "./headers.ts"

export class Device extends HttpApiGroup.make("device")
  .add(
    HttpApiEndpoint.post("deviceCode", "/v1/auth/device/code", {
      payload: DeviceCodeRequest,
      success: DeviceCode,
      error: errorsOf(strictErrors),
    }).annotateMerge(OpenApi.annotations({ summary: "Begin to log in on a device (RFC 8628)" })),
  )
  .add(
    HttpApiEndpoint.post("deviceToken", "/v1/auth/device/token", {
      payload: DeviceTokenRequest,
      success: TokenReply,
      error: errorsOf([
        ...everywhere,
        "device_code_pending",
        "device_code_slow_down",
        "device_code_expired",
        "device_code_denied",
        "forbidden",
      ]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Ask whether somebody has approved; tokens, once",
        description: "Ask every `interval` seconds. Who asks before has five seconds more to wait each time.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("deviceDecision", "/v1/auth/device/approve", {
      headers: { authorization: header("`Bearer` and the access token of somebody who has logged in; required") },
      payload: DeviceDecision,
      success: DeviceDecided,
      error: errorsOf([...strictErrors, "unauthorized", "token_expired", "forbidden", "not_found"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Approve a device, or deny it; audited before it has an effect" })),
  )
  .annotateMerge(OpenApi.annotations({ title: "Logging in on a device" })) {}
