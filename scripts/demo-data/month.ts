/** Fills a data folder: entries and calls by the gateway's own routes, then the calls are spread over the month. */
import { StartedGateway } from "../../test/support/started-gateway.ts"
import { type DemoOrg, demoEntries, demoModels, demoOrgs } from "./organisations.ts"
import { spreadOverMonth } from "./spread.ts"

const calls = 1400
/** The calls that run at once. */
const abreast = 12

export const makeDemoData = async (folder: string) => {
  const gateway = new StartedGateway({ SVC_DATA_DIR: folder, SVC_MASTER_KEY: "" })
  try {
    const { baseUrl = "", adminKey = "" } = await gateway.ready()
    const admin = (method: string, path: string, body?: object) =>
      sent(`${baseUrl}/v1/admin/${path}`, method, { "x-svc-admin-key": adminKey }, body)
    await addToCatalogue(admin)
    const keys: Array<DemoKey> = []
    for (const org of demoOrgs) keys.push(...(await makeOrganisation(admin, org)))
    await makeCalls(baseUrl, keys)
  } finally {
    await gateway.stop()
  }
  await spreadOverMonth(folder)
  return { calls, organisations: demoOrgs.length }
}

interface DemoKey {
  readonly keyId: string
  readonly key: string
  readonly weight: number
}

type Send = (method: string, path: string, body?: object) => Promise<{ readonly [name: string]: string }>

const sent = async (
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
): Promise<{ readonly [name: string]: string }> => {
  const reply = await fetch(url, {
    method,
    headers: { ...headers, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${method} ${url}: ${reply.status} ${text}`)
  return text === "" ? {} : JSON.parse(text)
}

const addToCatalogue = async (admin: Send) => {
  const { text = "" } = await admin("GET", "catalogue")
  if (text.includes("northwind")) throw new Error("The folder has the demo's data already")
  const simulated = /baseUrl: "(http:\/\/127\.0\.0\.1:\d+\/v1)"/.exec(text)?.[1]
  if (simulated === undefined) throw new Error("The catalogue has no simulated vendor: choose an empty folder")
  const draft = await admin("POST", "catalogue/draft", { text, add: demoEntries(simulated) })
  await admin("POST", "catalogue", { text: draft["text"] })
}

const makeOrganisation = async (admin: Send, org: DemoOrg): Promise<ReadonlyArray<DemoKey>> => {
  const { id, name, plan, people, teams, apps, paid, weight } = org
  await admin("POST", "orgs", { id, name, plan, currency: "USD", models: demoModels, aliases: { "gpt-*": "main" } })
  await admin("POST", "topups", { id: `demo-${id}`, org: id, amount: paid })
  const members: Array<string> = []
  for (const [person, role] of people) {
    const { id: member = "" } = await admin("POST", "members", { org: id, email: `${person}@${id}.example`, role })
    members.push(member)
  }
  for (const [at, team] of teams.entries()) {
    const half = members.filter((_, index) => index % teams.length === at)
    const made = await admin("POST", "teams", { org: id, name: team, members: half })
    await admin("PUT", `orgs/${id}/budgets/${id}-team-${at + 1}`, {
      ...{ scope: "team", subject: made["id"], unit: "money", period: "month", limit: "200", warnAt: [0.8] },
    })
  }
  await admin("PUT", `orgs/${id}/budgets/${id}-month`, {
    ...{ scope: "org", unit: "money", period: "month", limit: paid, warnAt: [0.5, 0.8] },
  })
  await admin("PUT", `orgs/${id}/budgets/${id}-keys`, {
    ...{ scope: "key", unit: "tokens", period: "day", limit: 500_000, mode: "shadow" },
  })
  const keys: Array<DemoKey> = []
  for (const [at, app] of apps.entries()) {
    const made = await admin("POST", "apps", { org: id, id: `${id}-app-${at + 1}`, name: app, quota: { rpm: 6000 } })
    const minted = await admin("POST", "keys", {
      app: made["id"],
      id: `${id}-key-${at + 1}`,
      name: `${app}, production`,
    })
    keys.push({ keyId: minted["keyId"] ?? "", key: minted["key"] ?? "", weight: weight / (at + 1) })
  }
  return keys
}

const questions = [
  "Where is container MSKU 482 now?",
  "Write a short reply to a customer whose parcel is late.",
  "Summarise the shift report in three sentences, and name what needs attention before six in the morning.",
  "Which of these invoices is missing a purchase order?",
  "Translate the safety notice into Portuguese.",
]

/** The kinds of calls, by how often they are made. */
const kinds: ReadonlyArray<readonly [share: number, path: string, body: (text: string) => object]> = [
  [0.5, "exchange", (text) => ask("main", text)],
  [0.72, "exchange", (text) => ask("fast", text)],
  [0.82, "exchange", (text) => ask("large", text)],
  [0.86, "exchange", (text) => ask("fragile", text)],
  [0.94, "embeddings", (text) => ({ model: "embed", input: [text] })],
  [0.965, "moderations", (text) => ({ model: "moderate", input: [text] })],
  [0.985, "exchange", (text) => ask("not-there", text)],
  [0.995, "images", (text) => ({ model: "draw", prompt: text })],
  [1, "videos", (text) => ({ model: "film", prompt: text, seconds: 4 })],
]

const ask = (model: string, text: string) => ({
  model,
  stream: text.length % 2 === 0,
  thread: [{ role: "user", blocks: [{ t: "text", v: text }] }],
})

const makeCalls = async (baseUrl: string, keys: ReadonlyArray<DemoKey>) => {
  const random = sequence(7)
  const weights = keys.reduce((sum, { weight }) => sum + weight, 0)
  let left = calls
  const caller = async () => {
    while (left-- > 0) {
      const { keyId, key } = drawn(keys, random() * weights)
      const kind = random()
      const [, path, body] = kinds.find(([share]) => kind <= share) ?? [
        0,
        "exchange",
        (text: string) => ask("main", text),
      ]
      const text = `${questions[Math.floor(random() * questions.length)]} ${"It is about the same matter. ".repeat(random() * 6)}`
      await fetch(`${baseUrl}/t1/${path}`, {
        method: "POST",
        headers: { "x-svc-key-id": keyId, "x-svc-key": key, "content-type": "application/json" },
        body: JSON.stringify(body(text)),
      }).then((reply) => reply.text())
    }
  }
  await Promise.all(Array.from({ length: abreast }, caller))
  // The last reports of failures are written in the background.
  await new Promise((resolve) => setTimeout(resolve, 3000))
}

/** The key at a place among all, each as long as its weight. */
const drawn = ([first, ...rest]: ReadonlyArray<DemoKey>, place: number): DemoKey => {
  if (first === undefined) throw new Error("No key was made")
  return place <= first.weight || rest.length === 0 ? first : drawn(rest, place - first.weight)
}

/** The same numbers from 0 to 1 each time. @param seed the first */
const sequence = (seed: number) => {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}
