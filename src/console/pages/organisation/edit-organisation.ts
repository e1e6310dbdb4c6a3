/** The form that changes an organisation: its name, plan, models, aliases and capabilities. */
import { html } from "htm/preact"
import type { OrgRecord } from "../../../protocol/control/tenants.ts"
import { call } from "../../api.ts"
import { modelChoices, useModels, usePlans } from "../../choices.ts"
import { ActionButton, chosenIn, type Values } from "../../ui/form.ts"
import { useViewer } from "../../viewer.ts"

type Org = typeof OrgRecord.Type

export const EditOrganisation = ({ org, changed }: { readonly org: Org; readonly changed: () => void }) => {
  const models = useModels(useViewer())
  const plans = usePlans()
  const save = async ({ name, plan = "", models: chosen, aliases = "", capabilities = "" }: Values) => {
    const switches = pairsIn(capabilities).map(([key, value]) => [key, value !== "no" && value !== "false"])
    await call("PATCH", `v1/admin/orgs/${encodeURIComponent(org.id)}`, {
      body: {
        name,
        plan: plan || null,
        // Without a list it may call all models: that stays so until one is chosen.
        models: org.models === undefined && !chosen ? null : chosenIn(chosen),
        aliases: aliases === "" ? null : Object.fromEntries(pairsIn(aliases)),
        capabilities: capabilities === "" ? null : Object.fromEntries(switches),
      },
      headers: { "if-match": org.revision },
    })
    changed()
  }
  return html`<${ActionButton} name="Edit" title="Edit ${org.name}" confirm="Save" act=${save} explain="The currency stays: the ledger is in it." fields=${[
    { name: "name", label: "Name", value: org.name },
    { name: "plan", label: "Plan", value: org.plan ?? "", options: plans },
    {
      name: "models",
      label: "Models that it may call",
      value: org.models?.join(",") ?? "",
      many: modelChoices(models),
    },
    {
      name: "aliases",
      label: "Aliases",
      value: aliasText(org.aliases),
      isOptional: true,
      hasLines: true,
      hint: "One a line, for example: gpt-* = main",
    },
    {
      name: "capabilities",
      label: "Capabilities",
      value: Object.entries(org.capabilities ?? {})
        .map(([key, isOn]) => `${key} = ${isOn ? "yes" : "no"}`)
        .join("\n"),
      isOptional: true,
      hasLines: true,
      hint: "One a line, for example: websearch = yes",
    },
  ]} />`
}

/** Aliases, one a line. */
export const aliasText = (aliases: Readonly<Record<string, string>> = {}): string =>
  Object.entries(aliases)
    .map(([alias, handle]) => `${alias} = ${handle}`)
    .join("\n")

/** The pairs of lines like `name = value`. */
const pairsIn = (text: string): ReadonlyArray<readonly [string, string]> =>
  text
    .split("\n")
    .map((line) => line.split("=").map((part) => part.trim()))
    .flatMap(([name = "", value = ""]) => (name === "" ? [] : [[name, value] as const]))
