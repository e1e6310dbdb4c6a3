/** `weir init` and `weir prices`, as a new user runs them, against a vendor that lists models and answers. */
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { useListingVendor } from "../support/listing-vendor.ts"
import { useCommands } from "../support/use-commands.ts"
import { withVariables } from "../support/variables.ts"

const { dir, run, serve } = useCommands()
const priceFile = fileURLToPath(new URL("../support/model_prices.json", import.meta.url))

const vendor = useListingVendor("sk-mine")

const init = (args: ReadonlyArray<string>, env: Record<string, string> = { MINE_API_KEY: "sk-mine" }) =>
  run(["init", "--file", join(dir(), "weir.yaml"), ...args], env)
const mine = () => ["--vendor", `mine=${vendor.url}`, "--yes"]
const written = () => readFileSync(join(dir(), "weir.yaml"), "utf8")

describe("weir init", () => {
  it("writes a catalogue that a gateway serves, calls the vendor once, and adds what comes later", async () => {
    vendor.listed = { data: [{ id: "small" }, { id: "large", owned_by: "me" }] }
    const first = await init(mine())
    expect(first).toMatchObject({ code: 0, text: expect.stringContaining("mine (openai-chat, small): works after") })
    expect(first.text).toContain("It reads MINE_API_KEY from its environment.")
    expect(written()).toContain("credential: env:MINE_API_KEY")
    expect(written()).not.toContain("sk-mine")
    const doctor = await run(["doctor"], { SVC_CATALOGUE: join(dir(), "weir.yaml"), MINE_API_KEY: "sk-mine" })
    expect(doctor.text).toMatch(/^catalogue +ok /m)

    writeFileSync(join(dir(), "weir.yaml"), written().replace("version: 1", "version: 1 # kept"))
    const before = written()
    vendor.listed = { data: [{ id: "small" }, { id: "large" }, { id: "huge" }] }
    const again = await init(mine())
    expect(again.text).toMatch(/\+ {3}- \{ handle: huge, targets: /)
    expect(
      written()
        .split("\n")
        .filter((line) => !before.split("\n").includes(line)),
    ).toHaveLength(2)
    expect(written()).toContain("version: 1 # kept")
    expect((await init(mine())).text).toContain("nothing changes")
  }, 60_000)

  it("writes a model that a chat without --model talks to", async () => {
    vendor.listed = { data: [{ id: "small" }] }
    expect(await init(mine())).toMatchObject({ code: 0 })
    const back = withVariables({ MINE_API_KEY: "sk-mine" })
    const gateway = await serve({ SVC_CATALOGUE: join(dir(), "weir.yaml") })
    const [, key = ""] = /key_first~(wk_\S+)/.exec(gateway.output.text) ?? []
    const variables = { SVC_BASE_URL: gateway.ready.baseUrl, SVC_KEY_ID: "key_first", SVC_KEY: key }
    const chat = await run(["chat", "Hello"], variables)
    back()
    expect(chat).toMatchObject({ code: 0, stderr: expect.stringMatching(/^\d+ in, \d+ out, /) })
    rmSync(join(dir(), "weir.yaml"))
  }, 60_000)

  it("declares the known routes of vendors that are passed through, once", async () => {
    const file = join(dir(), "weir.yaml")
    rmSync(file, { force: true })
    const env = { OPENAI_API_KEY: "sk", ANTHROPIC_API_KEY: "sk" }
    const known = ["--vendor", "openai", "--vendor", "anthropic", "--yes", "--no-test", "--prices", priceFile]
    const unknown = await init([...known, "--pass-through", "openai,mine"], env)
    expect([unknown.code, unknown.text]).toEqual([1, expect.stringContaining("No routes of mine are known; openai,")])
    const absent = await init([...known, "--pass-through", "cohere"], env)
    expect([absent.code, absent.text]).toEqual([1, expect.stringContaining("There is no vendor with the id cohere")])
    const first = await init([...known, "--pass-through", "openai, anthropic"], env)
    expect([first.code, first.text]).toEqual([
      0,
      expect.stringMatching(/\d+ routes cost 1 USD a call until you set their/),
    ])
    expect(written()).toMatch(/- \{ id: vector-stores, vendor: openai, path: \/vector_stores\/\*\*, .* price: free/)
    expect(written()).toContain(", pass/* ]")
    expect((await run(["doctor"], { SVC_CATALOGUE: file, ...env })).text).toMatch(/^catalogue +ok /m)
    const again = await init([...known, "--pass-through", "openai"], env)
    expect(again.text).toContain("nothing changes")
    rmSync(file)
  }, 60_000)

  it("calls nobody with --no-test", async () => {
    const file = join(dir(), "weir.yaml")
    rmSync(file, { force: true })
    const before = vendor.asked.length
    const unnamed = await init([...mine(), "--no-test"])
    expect([unnamed.code, unnamed.text]).toEqual([
      1,
      "mine is not asked for its models: name them, such as --model NAME\n",
    ])
    const named = await init([...mine(), "--no-test", "--model", "small"])
    expect([named.code, named.text]).toEqual([0, expect.stringContaining("1 model of mine is named; 1 of them")])
    expect(written()).toContain("handle: small")
    const known = ["--vendor", "openai", "--yes", "--no-test", "--prices", priceFile, "--model", "gpt-5"]
    const priced = await init(known, { OPENAI_API_KEY: "sk" })
    expect([priced.code, priced.text]).toEqual([0, expect.stringContaining("The price file lists")])
    expect(written()).toContain("handle: gpt-5")
    rmSync(file)
    const alone = await init(known.slice(0, 4), { OPENAI_API_KEY: "sk" })
    expect([alone.code, alone.text]).toEqual([0, expect.stringMatching(/^The price file lists \d+ models of openai/)])
    expect(alone.text).toMatch(/^Prices are of 20\d\d-\d\d-\d\d, from LiteLLM's list/m)
    expect(written()).toMatch(/handle: text-embedding-3-small, kind: embedding, /)
    expect(vendor.asked).toHaveLength(before)
    rmSync(file)
  }, 60_000)

  it("takes models of a server of one's own for what their names say", async () => {
    vendor.listed = { data: [{ id: "bge-m3" }, { id: "nomic-embed-text" }, { id: "qwen3-reranker" }, { id: "qwen3" }] }
    expect(
      await init([...mine(), "--no-test", ...["bge-m3", "qwen3-reranker", "qwen3"].flatMap((it) => ["--model", it])]),
    ).toMatchObject({ code: 0 })
    expect(written()).toMatch(/handle: bge-m3, kind: embedding, /)
    expect(written()).toMatch(/handle: qwen3-reranker, kind: rerank, /)
    expect(written()).toMatch(/handle: qwen3, targets/)
    expect(await run(["doctor"], { SVC_CATALOGUE: join(dir(), "weir.yaml"), MINE_API_KEY: "sk-mine" })).toMatchObject({
      text: expect.stringMatching(/^catalogue +ok /m),
    })
    rmSync(join(dir(), "weir.yaml"))
  }, 60_000)

  it("only proposes without --yes", async () => {
    vendor.listed = { data: [{ id: "small" }] }
    const { code, text } = await init(mine().slice(0, -1))
    expect([code, text]).toEqual([0, expect.stringContaining("Nothing was written")])
    expect(existsSync(join(dir(), "weir.yaml"))).toBe(false)
  }, 60_000)

  it("says in one line what is wrong, and writes nothing", async () => {
    const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, Record<string, string>, RegExp]> = [
      [[], {}, /^No vendor has its API key here\. Set one of OPENAI_API_KEY, /],
      [["--vendor", "openai"], {}, /^openai: there is no API key at env:OPENAI_API_KEY\n$/],
      [["--vendor", "opnai"], {}, /^opnai is no vendor: name one of openai, /],
      [mine(), { MINE_API_KEY: "sk-wrong" }, /^mine: \S+ answers 401: the API key is refused\n$/],
      [mine(), {}, /^mine: \S+ answers 401: it needs an API key; set MINE_API_KEY\n$/],
      [["--vendor", "mine=http://127.0.0.1:9/v1"], {}, /^mine: \S+ does not answer \(/],
      [[...mine(), "--prices", "nowhere.json"], {}, /^nowhere\.json: the file cannot be read\n$/],
      [[...mine(), "--markup", "ten"], {}, /^ten is no markup: /],
    ]
    for (const [args, env, line] of wrong) {
      const { code, text } = await init(args, env)
      expect([code, text]).toEqual([1, expect.stringMatching(line)])
    }
    for (const reply of [{ data: [{ id: 7 }] }, [], null, { data: "no" }]) {
      vendor.listed = reply
      expect(await init(mine())).toMatchObject({ code: 1, text: expect.stringMatching(/is no list of models\n$/) })
    }
    vendor.status = 500
    expect((await init(mine())).text).toMatch(/answers 500\n$/)
    vendor.status = 200
    expect(existsSync(join(dir(), "weir.yaml"))).toBe(false)
  }, 120_000)
})

describe("weir prices", () => {
  it("shows what changes, adds it when it is told to, and changes nothing the second time", async () => {
    const file = join(dir(), "weir.yaml")
    const catalogue = `version: 1
vendors:
  - { id: openai, dialect: openai-responses, baseUrl: "https://api.openai.com/v1" }
models:
  - { handle: main, targets: [{ vendor: openai, model: gpt-5 }] }
prices: # ours
  - { model: main, currency: USD, input: "1", output: "1", from: 2026-01-01 }
`
    writeFileSync(file, catalogue)
    copyFileSync(priceFile, join(dir(), "prices.json"))
    const prices = (...args: ReadonlyArray<string>) =>
      run(["prices", "import", join(dir(), "prices.json"), "--catalogue", file, "--vendor", "openai", ...args])
    const shown = await prices("--markup", "10%", "--from", "2030-01-01")
    expect(shown.text).toMatch(/main +1\.375 +11 +0\.1375 +priority: 2; flex: 0\.5 +1 \/ 1 +2030-01-01/)
    expect(readFileSync(file, "utf8")).toBe(catalogue)
    expect(await prices("--markup", "10%", "--from", "2027-01-01", "--write")).toMatchObject({ code: 0 })
    const line = `  - { model: main, currency: USD, input: "1.375", output: "11", cacheRead: "0.1375", dims: { web_search: "11000" }, tiers: { priority: "2", flex: "0.5" }, from: "2027-01-01" }\n`
    expect(readFileSync(file, "utf8")).toBe(catalogue + line)
    expect((await prices("--markup", "10%", "--write")).text).toContain("Unchanged: main")
    expect(await prices("--from", "2020-01-01")).toMatchObject({
      code: 1,
      text: expect.stringContaining("begin in the future"),
    })
    expect(await prices("--provider", "nobody")).toMatchObject({
      code: 0,
      text: expect.stringContaining("Not in the file: main"),
    })
    const counted = await run(["prices", "show", join(dir(), "prices.json")])
    expect(counted.code).toBe(0)
    expect(counted.text).toMatch(/^\d+ models have prices that carry over\n(.|\n)*1: mode chat_container/)
  }, 60_000)
})
