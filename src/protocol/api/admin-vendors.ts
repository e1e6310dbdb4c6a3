/** Admin routes for vendors and organisations' upstream keys. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { UpstreamKeyRequest, UpstreamKeysResponse, VendorCheckRequest, VendorCheckResponse } from "../control/admin.ts"
import { PathId } from "../values/text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { adminHeaders } from "./parameters.ts"

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
        summary: "Check a vendor with one small real call",
        description: "Weir bills nobody; the vendor bills its key. A failed call is a reply with `ok: false`.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("listUpstreamKeys", "/v1/admin/orgs/:org/upstream-keys", {
      headers: adminHeaders,
      params: { org: PathId },
      success: UpstreamKeysResponse,
      error: errorsOf([...everywhere, "admin_key_invalid", "not_found"]),
    }).annotateMerge(OpenApi.annotations({ summary: "List an organisation's upstream keys" })),
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
        summary: "Set an organisation's own key for a vendor",
        description: [
          "Exchanges of the organisation then use this key at the vendor and are not billed. The key is sealed",
          "at rest. An own address must be HTTPS and public, now and at every connection.",
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
    }).annotateMerge(OpenApi.annotations({ summary: "Remove an organisation's own key for a vendor" })),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Vendors and their keys",
      description: "Checks of vendors, and organisations' upstream keys; requires the admin key",
    }),
  ) {}
