/** Admin routes of clients' files: their list, without names and content, and their erasure. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ClientFileList, ErasedFiles } from "../control/client-file.ts"
import { PathId } from "../values/text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { eraseFilters, ownerFilters } from "./owner-filters.ts"
import { adminHeaders, pageQuery } from "./parameters.ts"

const errors = [...everywhere, "admin_key_invalid", "not_found"] as const

export class AdminFiles extends HttpApiGroup.make("adminFiles")
  .add(
    HttpApiEndpoint.get("listFiles", "/v1/admin/orgs/:org/files", {
      headers: adminHeaders,
      params: { org: PathId },
      query: { ...pageQuery, ...ownerFilters },
      success: ClientFileList,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the files of an organisation's clients, newest first",
        description:
          "Their owners, sizes and times. Their names and content are sealed, and no operator can read them here.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("eraseFiles", "/v1/admin/orgs/:org/files", {
      headers: adminHeaders,
      params: { org: PathId },
      query: eraseFilters,
      success: ErasedFiles,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Erase files of an organisation's clients",
        description:
          "Erases the files to which all filters apply, and uploads that go on. Clients get 404 at once; the content is removed within minutes. Audited.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("eraseFile", "/v1/admin/orgs/:org/files/:id", {
      headers: adminHeaders,
      params: { org: PathId, id: PathId },
      success: ErasedFiles,
      error: errorsOf(errors),
    }).annotateMerge(OpenApi.annotations({ summary: "Erase a file. Audited." })),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Clients' files",
      description: "Files that clients keep here; requires the admin key",
    }),
  ) {}
