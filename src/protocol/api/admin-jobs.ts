/** Admin routes of jobs: calls that vendors work on after their request. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { JobEntry, JobList } from "../kinds/job.ts"
import { PathId } from "../values/text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { adminHeaders, parameter } from "./parameters.ts"

const place = { org: PathId, id: PathId }
const errors = [...everywhere, "admin_key_invalid"] as const

export class AdminJobs extends HttpApiGroup.make("adminJobs")
  .add(
    HttpApiEndpoint.get("adminJobs", "/v1/admin/jobs", {
      headers: adminHeaders,
      query: {
        org: parameter("Only of this organisation"),
        open: Schema.optionalKey(Schema.Literals(["true", "false"])).annotate({
          description: "Only those that have not ended",
        }),
      },
      success: JobList,
      error: errorsOf(errors),
    }).annotateMerge(OpenApi.annotations({ summary: "List jobs, the newest 200" })),
  )
  .add(
    HttpApiEndpoint.get("adminJob", "/v1/admin/orgs/:org/jobs/:id", {
      headers: adminHeaders,
      params: place,
      success: JobEntry,
      error: errorsOf([...errors, "not_found"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Get a job" })),
  )
  .add(
    HttpApiEndpoint.delete("adminCancelJob", "/v1/admin/orgs/:org/jobs/:id", {
      headers: adminHeaders,
      params: place,
      success: JobEntry,
      error: errorsOf([...errors, "not_found"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Cancel a job, also at its vendor if possible, and release its hold. Repeating it is not an error.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Jobs", description: "Jobs of vendors, such as videos; requires the admin key" }),
  ) {}
