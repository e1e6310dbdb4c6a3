/** The button for the limits of a subject: the models and tools that it may call, and its rates. */
import { html } from "htm/preact"
import { rateForm, rateText, readRate, type SentRate } from "../../../protocol/values/rate-text.ts"
import { ActionButton, type Values } from "../../ui/form.ts"

interface Limits {
  readonly models?: ReadonlyArray<string>
  readonly rates?: ReadonlyArray<SentRate>
  readonly tools?: ReadonlyArray<string>
}

interface LimitsButtonProps {
  readonly name: string
  readonly limits: Limits
  readonly save: (body: object) => Promise<unknown>
}

export const LimitsButton = ({ name, limits, save }: LimitsButtonProps) => {
  const act = async ({ which, models = "", whichTools, tools = "", rates = "" }: Values) => {
    const lines = linesIn(rates)
    const unread = lines.find((line) => readRate(line) === undefined)
    if (unread !== undefined) throw new Error(`"${unread}" is no rate: write ${rateForm}`)
    return save({
      models: which === "all" ? null : namesIn(models),
      tools: whichTools === "all" ? null : namesIn(tools),
      rates: lines.length === 0 ? null : lines.map(readRate),
    })
  }
  return html`<${ActionButton} name="Limits" title="Limits of ${name}" tone="quiet" confirm="Save" act=${act} fields=${[
    {
      name: "which",
      label: "Models",
      value: limits.models === undefined ? "all" : "these",
      options: [
        ["all", "all that are allowed above it"],
        ["these", "only these"],
      ],
    },
    {
      name: "models",
      label: "Only these",
      value: limits.models?.join(", ") ?? "",
      isOptional: true,
      hint: "Handles, beginnings such as gpt-*, or tags such as tag:cheap. None if empty.",
    },
    {
      name: "whichTools",
      label: "Tools",
      value: limits.tools === undefined ? "all" : "these",
      options: [
        ["all", "all that are allowed above it"],
        ["these", "only these"],
      ],
    },
    {
      name: "tools",
      label: "Only these tools",
      value: limits.tools?.join(", ") ?? "",
      isOptional: true,
      hint: "Servers, tools such as weather__forecast, or beginnings such as wea*. None if empty.",
    },
    {
      name: "rates",
      label: "Rates",
      value: (limits.rates ?? []).map(rateText).join("\n"),
      isOptional: true,
      hasLines: true,
      hint: `One a line: ${rateForm}.`,
    },
  ]} />`
}

/** Limits in the cell of a table; nothing if there are none. */
export const LimitsText = ({ limits: { models, tools, rates = [] } }: { readonly limits: Limits }) =>
  html`<span class="wrap">${[
    ...(models === undefined ? [] : [models.length === 0 ? "no models" : models.join(", ")]),
    ...(tools === undefined ? [] : [tools.length === 0 ? "no tools" : `tools ${tools.join(", ")}`]),
    ...rates.map(rateText),
  ].join("; ")}</span>`

const namesIn = (text: string): ReadonlyArray<string> => text.split(/[\s,]+/).filter((each) => each !== "")

const linesIn = (text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
