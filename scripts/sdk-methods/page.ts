/** The page of src/docs that lists every public method of the SDKs with its outcome. */
import { fileURLToPath } from "node:url"
import { type Outcome, refusal } from "./outcome.ts"
import type { Row, SdkTable } from "./table.ts"

export const pageFile = fileURLToPath(new URL("../../src/docs/reference/sdk-methods.md", import.meta.url))

/** The text of the page. */
export const pageOf = (tables: ReadonlyArray<SdkTable>): string => `# Methods of the SDKs

Each public method of the four official SDKs for TypeScript, called at a gateway with the development catalogue and the
routes that \`weir init --pass-through openai,anthropic,gemini,cohere\` declares, at a vendor that answers everything.
\`npm run sdk-methods\` calls them and writes this page; a test compares it.

${summaryOf(tables)}

- **works**: the gateway answers, and the SDK reads its answer.
- **by pass-through**: one of those declarations has the route: see [Pass routes through](../how-to/pass-through.md). Without it, the method
  is refused by name.
- **refused**: a 400 names the alternative.
- **the vendor's account**: methods that manage people, keys, projects and bills of the vendor's account. They are refused, and not
  counted: the gateway has organisations, keys and limits of its own.

Methods that repeat another one in another form (\`stream\`, \`parse\`, \`createAndPoll\`, \`toolRunner\`) are not counted: they work if
the other one does. The methods of \`beta\` are counted. Methods that Google's SDK has for Vertex AI alone are called there.

${tables.map(sectionOf).join("\n")}`

const kinds = ["works", "passed through", "refused", "missing"] as const

const rowOf = (cells: ReadonlyArray<string | number>): string => `| ${cells.join(" | ")} |`

const countsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<number> =>
  kinds.map((kind) => rows.filter(({ outcome }) => outcome.kind === kind).length)

const summaryOf = (tables: ReadonlyArray<SdkTable>): string => {
  const all = tables.flatMap(({ rows }) => rows)
  const ofAccount = tables.reduce((sum, table) => sum + table.ofAccount.length, 0)
  return [
    rowOf(["SDK", "methods", "works", "by pass-through", "refused", "no answer", "the vendor's account"]),
    rowOf(Array.from({ length: 7 }, () => "---")),
    ...tables.map(({ sdk, rows, ofAccount: aside }) =>
      rowOf([`\`${sdk.name}\``, rows.length, ...countsOf(rows), aside.length]),
    ),
    rowOf(["all", all.length, ...countsOf(all), ofAccount]),
  ].join("\n")
}

const sectionOf = ({ sdk, rows }: SdkTable): string => `## ${sdk.name}

Routes are below \`${sdk.base}\`${sdk.cloudClient === undefined ? "" : `, except for those of \`/${sdk.cloudClient}\``}.

${rowOf(["method", "route", "outcome"])}
${rowOf(["---", "---", "---"])}
${rows.map(({ id, route, outcome }) => rowOf([`\`${id}\``, `\`${route}\``, textOf(outcome)])).join("\n")}
`

const textOf = (outcome: Outcome): string => {
  switch (outcome.kind) {
    case "refused":
      return `refused: ${alternativeIn(outcome.why)}`
    case "missing":
      return `no answer: ${outcome.why}`
    case "passed through":
      return "by pass-through"
    case "works":
      return outcome.kind
  }
}

/** The alternative that ends a refusal. */
const alternativeIn = (message: string): string => message.replace(refusal, "")
