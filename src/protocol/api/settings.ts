/** Routes of layered settings. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  ConfigRevisions,
  Reason,
  SettingRows,
  SettingsPreview,
  SettingWrite,
  SettingWritten,
  ShadowReport,
} from "../control/settings.ts"
import { PathId } from "../values/text.ts"
import { bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { adminHeaders, bearerHeaders, parameter } from "./parameters.ts"

const as = parameter("Whose: `org`, `team:ID` or `member:ID`")
const scope = parameter("The layer: `org`, `team` or `user`")
const keyPath = parameter("The key, e.g. `site.theme`")
const team = parameter("The team's id; required in the scope `team`")

const errors = [...everywhere, ...bearerErrors] as const

/** Operators write the platform's layer. */
const layerHeaders = {
  ...bearerHeaders,
  "x-svc-admin-key": parameter("The admin key; required for the scope `platform`"),
}
const writeHeaders = {
  ...layerHeaders,
  "if-match": parameter("The revision that was read, 0 for none; 409 if it has changed"),
}
const params = { scope: PathId, keyPath: PathId }

export class SettingRoutes extends HttpApiGroup.make("settings")
  .add(
    HttpApiEndpoint.get("effectiveSettings", "/v1/config/effective", {
      headers: bearerHeaders,
      query: { as },
      success: SettingsPreview,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Get the effective settings",
        description:
          "`as`: `org`, `team:ID` or `member:ID`, for owners and admins. Without `x-svc-org`: platform and user.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("shadowReport", "/v1/config/shadow-report", {
      headers: bearerHeaders,
      success: ShadowReport,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({ summary: "List writes that shadow locks would have denied. Requires owner or admin." }),
    ),
  )
  .add(
    HttpApiEndpoint.get("configRevisions", "/v1/config-revisions", {
      headers: bearerHeaders,
      query: { scope, keyPath, team },
      success: ConfigRevisions,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List revisions of a key, newest first, at most 100",
        description: "`scope`: `org` or `team` (with `team`) for owners and admins, `user` for the caller.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("platformRevisions", "/v1/admin/config-revisions", {
      headers: adminHeaders,
      query: { keyPath },
      success: ConfigRevisions,
      error: errorsOf([...everywhere, "admin_key_invalid"]),
    }).annotateMerge(
      OpenApi.annotations({ summary: "List revisions of a key of the platform, newest first, at most 100" }),
    ),
  )
  .add(
    HttpApiEndpoint.get("listSettings", "/v1/config/:scope", {
      headers: layerHeaders,
      params: { scope: PathId },
      query: { team },
      success: SettingRows,
      error: errorsOf([...errors, "admin_key_invalid"]),
    }).annotateMerge(OpenApi.annotations({ summary: "List the settings of one layer" })),
  )
  .add(
    HttpApiEndpoint.put("setSetting", "/v1/config/:scope/:keyPath", {
      headers: writeHeaders,
      params,
      query: { team },
      payload: SettingWrite,
      success: SettingWritten,
      error: errorsOf([
        ...errors,
        "admin_key_invalid",
        "section_not_deliverable",
        "policy_locked",
        "conflict",
        "limit_exceeded",
      ]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Set a key in one layer, optionally locked",
        description:
          "At most 64 locks and 1000 keys per layer, 16 KiB per value. Each write is a revision in the audit log.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("deleteSetting", "/v1/config/:scope/:keyPath", {
      headers: writeHeaders,
      params,
      query: { team, reason: Schema.optionalKey(Reason) },
      success: HttpApiSchema.NoContent,
      error: errorsOf([...errors, "admin_key_invalid", "conflict"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Delete a key from one layer" })),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Settings", description: "Layered settings, their revisions and shadow locks" }),
  ) {}
