/** `weir jobs`: lists, shows and cancels jobs of vendors. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Argument, Command, Flag } from "effect/cli"
import { AdminJobs } from "../../protocol/api/admin-jobs.ts"
import type { JobEntry } from "../../protocol/kinds/job.ts"
import { givenOf, ofOrg, org } from "../lists.ts"
import { table } from "../table.ts"
import { operator, show } from "../target.ts"

const id = Argument.String("job").pipe(Argument.withDescription("The job's id"))
const open = Flag.Boolean("open").pipe(Flag.withDescription("Only those that have not ended"), Flag.withDefault(false))

const list = Command.make("list", { org: ofOrg, open, ...operator }, ({ org, open, ...target }) =>
  show(
    target,
    AdminJobs,
    (client, headers) =>
      client.adminJobs.adminJobs({ headers, query: { ...givenOf({ org }), ...(open && { open: "true" as const }) } }),
    ({ jobs }) =>
      table(
        ["created", "organisation", "job", "model", "status", "progress", "held"],
        jobs.map((job) => [
          job.createdAt,
          job.org,
          job.id,
          job.model,
          job.status,
          `${job.progress} %`,
          `${job.held} ${job.currency}`,
        ]),
        "No jobs. Videos are jobs: applications make them at /t1/videos",
      ),
  ),
).pipe(Command.withDescription("List jobs, newest first"))

const one = Command.make("show", { org, id, ...operator }, ({ org, id, ...target }) =>
  show(target, AdminJobs, (client, headers) => client.adminJobs.adminJob({ headers, params: { org, id } }), describe),
).pipe(Command.withDescription("Show a job"))

const cancel = Command.make("cancel", { org, id, ...operator }, ({ org, id, ...target }) =>
  show(
    target,
    AdminJobs,
    (client, headers) => client.adminJobs.adminCancelJob({ headers, params: { org, id } }),
    describe,
  ),
).pipe(Command.withDescription("Cancel a job and release its hold"))

const describe = ({ dims, ...job }: JobEntry): string =>
  table(
    ["field", "value"],
    [...Object.entries(job), ...Object.entries(dims)].map(([name, value]) => [name, `${value}`]),
  )

export const jobs = Command.make("jobs").pipe(
  Command.withSubcommands([list, one, cancel]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
