/** Routes of the device login. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { DeviceCode, DeviceCodeRequest, DeviceDecided, DeviceDecision, DeviceTokenRequest } from "../control/device.ts"
import { TokenReply } from "../control/login.ts"
import { errorsOf, everywhere, strictErrors } from "./errors.ts"
import { parameter } from "./parameters.ts"

export class Device extends HttpApiGroup.make("device")
  .add(
    HttpApiEndpoint.post("deviceCode", "/v1/auth/device/code", {
      payload: DeviceCodeRequest,
      success: DeviceCode,
      error: errorsOf(strictErrors),
    }).annotateMerge(OpenApi.annotations({ summary: "Start a device login (RFC 8628)" })),
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
        summary: "Poll for the tokens of an approved device",
        description: "Poll every `interval` seconds; each earlier poll adds five seconds.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("deviceDecision", "/v1/auth/device/approve", {
      headers: { authorization: parameter("`Bearer` and the access token of a logged-in person; required") },
      payload: DeviceDecision,
      success: DeviceDecided,
      error: errorsOf([...strictErrors, "unauthorized", "token_expired", "forbidden", "not_found"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Approve or deny a device. Audited before it takes effect." })),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Device login", description: "Login of devices without a keyboard (RFC 8628)" }),
  ) {}
