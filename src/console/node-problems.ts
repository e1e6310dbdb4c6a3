/** A banner above each page of an operator: problems of the node that answers. */

import { html } from "htm/preact"
import type { NodeProblemList } from "../protocol/control/node-problem.ts"
import { get } from "./api.ts"
import { useLoad } from "./load.ts"
import { Ago } from "./ui/time.ts"

const everyMs = 30_000

export const NodeProblems = () => {
  const { data } = useLoad(
    "problems",
    (signal) => get<NodeProblemList>("v1/admin/problems", undefined, signal),
    everyMs,
  )
  if (data === undefined || data.data.length === 0) return null
  return html`<div class="error" role="alert">
    ${data.data.map(({ what, problem, since }) => html`<div><strong>${what}</strong> <span class="small">began <${Ago} at=${since} /></span><div class="wrap">${problem}</div></div>`)}
  </div>`
}
