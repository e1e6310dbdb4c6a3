/** Admin routes for the catalogue, top-ups, books, audit log and tier times. */

import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  ApplyEvent,
  ApplyRequest,
  ApplyResponse,
  AuditResponse,
  DoctorResponse,
  LedgerResponse,
  TierTimesReply,
  TopupRequest,
  TopupResponse,
} from "../control/admin.ts"
import { PathId } from "../values/text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { adminHeaders, parameter, requiredParameter } from "./parameters.ts"

export class Admin extends HttpApiGroup.make("admin")
  .add(
    HttpApiEndpoint.post("applyCatalogue", "/v1/admin/catalogue", {
      headers: adminHeaders,
      payload: ApplyRequest,
      success: ApplyResponse,
      error: errorsOf([...everywhere, "admin_key_invalid"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Apply a catalogue, or return what it would change",
        description: "A catalogue with an error changes nothing.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("applyCatalogueEvents", "/v1/admin/catalogue/events", {
      headers: adminHeaders,
      payload: ApplyRequest,
      success: HttpApiSchema.StreamSse({ events: ApplyEvent }),
      error: errorsOf([...everywhere, "admin_key_invalid"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Apply a catalogue, with events that report the progress",
        description:
          "Like the route without events. The last event is `result` or `error`. A client that disconnects early stops it.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("topup", "/v1/admin/topups", {
      headers: adminHeaders,
      payload: TopupRequest,
      success: TopupResponse,
      error: errorsOf([...everywhere, "admin_key_invalid", "not_found", "conflict"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Top up an organisation. Idempotent by `id`" })),
  )
  .add(
    HttpApiEndpoint.get("ledger", "/v1/admin/ledger/:org", {
      headers: adminHeaders,
      params: { org: PathId },
      success: LedgerResponse,
      error: errorsOf([...everywhere, "admin_key_invalid", "not_found"]),
    }).annotateMerge(
      OpenApi.annotations({ summary: "Get an organisation's balances, allotments and newest 100 entries" }),
    ),
  )
  .add(
    HttpApiEndpoint.get("doctor", "/v1/admin/doctor", {
      headers: adminHeaders,
      success: DoctorResponse,
      error: errorsOf([...everywhere, "admin_key_invalid"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Check the books",
        description:
          "Checks that transfers sum to balances, that usage records match charges, that no request id was billed twice, and that no hold or allotment outlives its node. Lists the nodes that have allotments.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("tierTimes", "/v1/admin/tier-times", {
      headers: adminHeaders,
      query: {
        from: requiredParameter("A date or an instant"),
        to: parameter("A date or an instant; now if absent"),
        all: Schema.optionalKey(Schema.Literal("true")).annotate({ description: "Targets without calls too" }),
      },
      success: TierTimesReply,
      error: errorsOf([...everywhere, "admin_key_invalid"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Get observed times of the timeout tiers",
        description: "Times of billed exchanges. `from` and `to` (now if absent) are dates or instants.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("auditVerify", "/v1/admin/audit/verify", {
      headers: adminHeaders,
      query: {
        limit: parameter("1 to 100000 entries, 100000 if absent"),
        cursor: parameter("The `nextCursor` of the reply before"),
      },
      success: AuditResponse,
      error: errorsOf([...everywhere, "admin_key_invalid"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Verify the audit log",
        description:
          "Entries are chained by hashes; `broken` is the first entry that is missing or was changed. A long log is verified in parts: ask again with `nextCursor` until it is null.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Administration",
      description: "Catalogue, top-ups, ledger, audit log and health; requires the admin key",
    }),
  ) {}
