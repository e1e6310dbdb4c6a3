/** The models and keys that are used most in a range. */
import { html } from "htm/preact"
import type { UsageSummary } from "../../protocol/control/usage-summary.ts"
import { get } from "../api.ts"
import { count, roundedMonies } from "../format.ts"
import { useLoad } from "../load.ts"
import { fromOf, type RangeName } from "../range.ts"
import { linkTo } from "../route.ts"
import { Card } from "../ui/parts.ts"

export const MostUsed = ({
  path,
  range,
  org,
}: {
  readonly path: string
  readonly range: RangeName
  readonly org: string | undefined
}) => {
  const load = (by: string) => (signal: AbortSignal) =>
    get<UsageSummary>(path, { from: fromOf(range), by, org }, signal)
  const models = useLoad(`top models ${range} ${org}`, load("model"))
  const keys = useLoad(`top keys ${range} ${org}`, load("key"))
  return html`<${Card} title="Most used">
    <${Ranking} title="Models" name="model" groups=${models.data?.groups ?? []} />
    <${Ranking} title="Keys" name="key" groups=${keys.data?.groups ?? []} />
  <//>`
}

const Ranking = ({
  title,
  name,
  groups,
}: {
  readonly title: string
  readonly name: string
  readonly groups: UsageSummary["groups"]
}) => {
  const most = groups[0]?.exchanges ?? 1
  return html`<h3>${title}</h3><ol class="ranking">${groups.slice(0, 3).map(
    ({ group, exchanges, cost }) => html`<li>
      <span class="row"><a class="wrap" href=${linkTo(["exchanges"], { [name]: group })}>${group || "–"}</a> <span class="soft small">${count(exchanges)} calls, ${roundedMonies(cost)}</span></span>
      <div class="bar" aria-hidden="true"><i style=${{ width: `${(100 * exchanges) / most}%` }}></i></div>
    </li>`,
  )}</ol>`
}
