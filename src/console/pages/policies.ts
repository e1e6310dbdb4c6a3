/** Content policies, and the trial of a text against those in force. */
import { html } from "htm/preact"
import type { PolicyList, PolicyTestReply } from "../../protocol/control/policies.ts"
import { call, get } from "../api.ts"
import { useOrganisationsOf } from "../choices.ts"
import { count } from "../format.ts"
import { useLoad } from "../load.ts"
import { linkTo } from "../route.ts"
import { ActionButton, type Field, type Values } from "../ui/form.ts"
import { Card, Empty, ErrorBox, Head, Loading } from "../ui/parts.ts"
import { Table } from "../ui/table.ts"
import { useViewer } from "../viewer.ts"

type Row = PolicyList["data"][number]
type Tried = PolicyTestReply["policies"][number]

export const Page = () => {
  const viewer = useViewer()
  const { data, error, reload } = useLoad("policies", (signal) => get<PolicyList>("v1/admin/policies", {}, signal))
  const organisations = useOrganisationsOf(viewer)
  const test = async ({ text = "", org = "", app = "", direction = "" }: Values) => {
    const body = {
      text,
      ...(org !== "" && { org }),
      ...(app !== "" && { app }),
      ...(direction !== "" && { direction }),
    }
    const found = await call<PolicyTestReply>("POST", "v1/admin/policies/test", { body })
    return html`<${Findings} found=${found} text=${text} />`
  }
  const fields: ReadonlyArray<Field> = [
    { name: "text", label: "Text", hasLines: true },
    {
      name: "org",
      label: "Organisation",
      suggestions: organisations,
      isOptional: true,
      hint: "All policies of the catalogue if empty.",
    },
    { name: "app", label: "Application", isOptional: true },
    { name: "direction", label: "Direction", options: directions },
  ]
  return html`
    <${Head} title="Policies">
      <${ActionButton} name="Try a text" confirm="Try" explain="The text is neither stored nor logged. Engines of policies are asked." fields=${fields} act=${test} />
    <//>
    <${Card} title="Content policies">
      <${ErrorBox} error=${error} retry=${reload} />
      ${
        data === undefined
          ? error === undefined && html`<${Loading} />`
          : html`<${Table} caption="Content policies" rows=${data.data} empty=${html`<${Empty} title="No content policies yet">Operators add <code>policies</code> to the <a href=${linkTo(["catalogue"])}>catalogue</a>.<//>`} columns=${[
              { name: "Policy", show: ({ id }: Row) => html`<code>${id}</code>` },
              { name: "Direction", show: ({ direction }: Row) => direction },
              { name: "Match", show: ({ match }: Row) => html`<span class="wrap">${match}</span>` },
              { name: "Action", show: ({ action }: Row) => action },
              { name: "Streams", show: ({ streams }: Row) => streams },
              { name: "Text waits", show: waitText },
              { name: "Engine's price", show: priceText },
              {
                name: "Holds for",
                show: ({ forAll, namedBy }: Row) => (forAll ? "all organisations" : holdersOf(namedBy)),
              },
            ]} />`
      }
    <//>`
}

const directions = [
  ["", "both"],
  ["inbound", "inbound"],
  ["outbound", "outbound"],
] as const

const waitText = ({ waits }: Row): string => {
  if (waits === undefined) return "–"
  if (waits.until === "match") return "from where a match begins"
  return waits.until === "verdict" ? "until a verdict" : `at most ${count(waits.characters ?? 0)} characters`
}

const priceText = ({ price }: Row): string => {
  if (price === undefined) return "–"
  const { currency, perCall, perThousandCharacters, paidBy } = price
  const amounts = [
    ...(perCall === undefined ? [] : [`${perCall} a call`]),
    ...(perThousandCharacters === undefined ? [] : [`${perThousandCharacters} a thousand characters`]),
  ]
  return `${currency} ${amounts.join(" and ")}, paid by the ${paidBy}`
}

const holdersOf = ({ orgs, apps, keys }: Row["namedBy"]): string => {
  const named = [
    ...orgs.ids.map((id) => `org/${id}`),
    ...apps.ids.map((id) => `app/${id}`),
    ...keys.ids.map((id) => `key/${id}`),
  ]
  const more = orgs.count + apps.count + keys.count - named.length
  return [...named, ...(more > 0 ? [`${count(more)} more`] : [])].join(", ") || "nobody"
}

/** The matches, marked in the text, and the text with its masks. */
const Findings = ({ found, text }: { readonly found: PolicyTestReply; readonly text: string }) => {
  const matched = found.policies.filter(({ count, failure }) => count > 0 || failure !== undefined)
  return html`
    <p role="status">${matched.length === 0 ? `${found.policies.length} tried: nothing found.` : `${matched.length} of ${found.policies.length} policies match.`}</p>
    ${
      matched.length > 0 &&
      html`<${Table} caption="Policies that match" rows=${matched} empty="" columns=${[
        { name: "Policy", show: ({ id }: Tried) => html`<code>${id}</code>` },
        { name: "Action", show: ({ action }: Tried) => action },
        {
          name: "Matches",
          align: "right",
          show: (tried: Tried) => (tried.failure !== undefined ? "no answer" : count(tried.count)),
        },
        { name: "Found", show: ({ findings }: Tried) => [...new Set(findings.map(({ label }) => label))].join(", ") },
      ]} />
      <p class="wrap">${marked(text, found, "text")}</p>`
    }
    ${found.masked !== undefined && html`<p>With masks: <code class="wrap">${marked(found.masked, found, "masked")}</code></p>`}`
}

/** A text with the matches in it as `mark` elements; those that overlap are one. */
const marked = (text: string, { policies }: PolicyTestReply, of: Tried["reviewed"]): ReadonlyArray<unknown> => {
  const places = policies
    .filter(({ reviewed }) => reviewed === of)
    .flatMap(({ findings }) => findings)
    .sort((a, b) => a.start - b.start)
  const parts: Array<unknown> = []
  let at = 0
  for (const { start, end, label } of places) {
    const from = Math.max(start, at)
    if (end <= from) continue
    parts.push(text.slice(at, from), html`<mark title=${label}>${text.slice(from, end)}</mark>`)
    at = end
  }
  return [...parts, text.slice(at)]
}
