/** Admin routes of exports. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ExportFill, ExportList } from "../control/export.ts"
import { PathId } from "../values/text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { adminHeaders, requiredParameter } from "./parameters.ts"

export class AdminExports extends HttpApiGroup.make("adminExports")
  .add(
    HttpApiEndpoint.get("adminExports", "/v1/admin/exports", {
      headers: adminHeaders,
      success: ExportList,
      error: errorsOf([...everywhere, "admin_key_invalid"]),
    }).annotateMerge(OpenApi.annotations({ summary: "List exports and their progress" })),
  )
  .add(
    HttpApiEndpoint.post("adminRunExport", "/v1/admin/exports/:id/run", {
      headers: adminHeaders,
      params: { id: PathId },
      query: {
        from: requiredParameter("A date or an instant; not before records are kept"),
        to: requiredParameter("A date or an instant, not in the future"),
      },
      success: ExportFill,
      error: errorsOf([...everywhere, "admin_key_invalid", "not_found"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Write the files of a period again",
        description:
          "Each file is replaced by one with the same records. Hours before the export was started get their files for the first time.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Exports", description: "Exports of records to files; requires the admin key" }),
  ) {}
