/** Admin routes for vendors and organisations' upstream keys. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { UpstreamKeyRequest, UpstreamKeysResponse, VendorCheckRequest, VendorCheckResponse } from "../admin.ts"
import { PathId } from "../text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { adminHeaders } from "./headers.ts"

const keyParams = { org: PathId, vendor: PathId }

export class AdminVendors extends HttpApiGroup.make("adminVendors")
  .add(
    HttpApiEndpoint.post("testVendor", "/v1/admin/vendors/:vendor/test", {
      headers: adminHeaders,
      params: { vendor: PathId },
      payload: VendorCheckRequest,
      success: VendorCheckResponse,
      error: errorsOf([...everywhere, "admin_key_invalid", "not_found"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Make one small real call to a vendor, and tell what came back",
        description:
          "Nobody is billed by Weir; the vendor bills its key. A call that failed is a reply with `ok: false`.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("listUpstreamKeys", "/v1/admin/orgs/:org/upstream-keys", {
      headers: adminHeaders,
      params: { org: PathId },
      success: UpstreamKeysResponse,
      error: errorsOf([...everywhere, "admin_key_invalid", "not_found"]),
    }).annotateMerge(OpenApi.annotations({ summary: "The upstream keys that an organisation brought" })),
  )
  .add(
    HttpApiEndpoint.put("setUpstreamKey", "/v1/admin/orgs/:org/upstream-keys/:vendor", {
      headers: adminHeaders,
      params: keyParams,
      payload: UpstreamKeyRequest,
      success: UpstreamKeysResponse,
      error: errorsOf([...everywhere, "admin_key_invalid", "not_found", "egress_blocked", "org_byok_not_available"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Keep an organisation's own key for a vendor",
        description: [
          "Exchanges of the organisation then go to this vendor with its own key, and are not billed. The key is sealed",
          "at rest. An address of its own must be HTTPS and public, when it is kept and at every connection.",
        ].join(" "),
      }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("removeUpstreamKey", "/v1/admin/orgs/:org/upstream-keys/:vendor", {
      headers: adminHeaders,
      params: keyParams,
      success: UpstreamKeysResponse,
      error: errorsOf([...everywhere, "admin_key_invalid", "not_found"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Forget an organisation's own key for a vendor" })),
  )
  .annotateMerge(OpenApi.annotations({ title: "Vendors and their keys" })) {}
