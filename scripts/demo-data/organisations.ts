/** The organisations of the demo, and what the catalogue has for them. */

export interface DemoOrg {
  readonly id: string
  readonly name: string
  readonly plan: string
  readonly paid: string
  readonly people: ReadonlyArray<readonly [name: string, role: string]>
  readonly teams: ReadonlyArray<string>
  readonly apps: ReadonlyArray<string>
  /** Its share of all calls. */
  readonly weight: number
}

export const demoOrgs: ReadonlyArray<DemoOrg> = [
  {
    id: "harbour",
    name: "Harbour Logistics",
    plan: "business",
    paid: "2500",
    people: [
      ["mira", "owner"],
      ["tomas", "admin"],
      ["lea", "member"],
      ["jun", "member"],
    ],
    teams: ["Dispatch", "Customer service"],
    apps: ["Tracking page", "Support assistant", "Nightly reports"],
    weight: 5,
  },
  {
    id: "orchard",
    name: "Orchard Health",
    plan: "business",
    paid: "1800",
    people: [
      ["ines", "owner"],
      ["paul", "member"],
    ],
    teams: ["Research"],
    apps: ["Letter writer", "Search"],
    weight: 3,
  },
  {
    id: "lantern",
    name: "Lantern Studio",
    plan: "starter",
    paid: "120",
    people: [["sofia", "owner"]],
    teams: [],
    apps: ["Sketchbook"],
    weight: 1,
  },
]

/** Lines for sections of the catalogue: plans, vendors that are slow or away, and models of them. */
export const demoEntries = (simulated: string) => ({
  vendors: [
    { id: "northwind", dialect: "openai-chat", baseUrl: simulated },
    { id: "slow-region", dialect: "openai-chat", baseUrl: simulated, timeouts: { ttfb: "45ms" } },
    { id: "away", dialect: "openai-chat", baseUrl: "http://127.0.0.1:9/v1" },
  ],
  models: [
    { handle: "fast", contextWindow: 32_000, maxOutput: 4096, targets: [{ vendor: "northwind", model: "swift-2" }] },
    {
      handle: "large",
      contextWindow: 200_000,
      maxOutput: 8192,
      targets: [
        { vendor: "away", model: "deep-1" },
        { vendor: "northwind", model: "deep-1" },
      ],
    },
    {
      handle: "fragile",
      contextWindow: 32_000,
      maxOutput: 1024,
      targets: [{ vendor: "slow-region", model: "swift-2" }],
    },
  ],
  prices: [
    { model: "fast", currency: "USD", input: "0.4", output: "1.6", from: "2026-01-01" },
    { model: "large", currency: "USD", input: "5", output: "25", from: "2026-01-01" },
    { model: "fragile", currency: "USD", input: "0.4", output: "1.6", from: "2026-01-01" },
  ],
  plans: [
    { id: "starter", concurrency: 10, perMinute: 6000, dailyTokens: 1_000_000 },
    { id: "business", concurrency: 50, perMinute: 60_000, dailyTokens: 100_000_000 },
  ],
})

export const demoModels = ["main", "fast", "large", "fragile", "embed", "moderate", "draw", "film"]
