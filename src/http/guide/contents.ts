/** The contents of the guide: its groups, and the pages of each in reading order. Paths are those below `src/docs`. */

export interface Group {
  readonly title: string
  readonly paths: ReadonlyArray<string>
}

export const frontPage = "index"

/** The path of a page at the gateway. */
export const guidePath = (page: string): string => (page === frontPage ? "/docs" : `/docs/${page}`)

export const contents: ReadonlyArray<Group> = [
  { title: "Begin", paths: [frontPage, "tutorial"] },
  {
    title: "Use",
    paths: [
      "how-to/clients",
      "how-to/voice",
      "how-to/kept-responses",
      "how-to/files",
      "how-to/batches",
      "how-to/typed-client",
      "how-to/testing",
      "how-to/web-search",
      "how-to/tools",
      "how-to/model-tools",
      "how-to/pass-through",
      "how-to/reply-cache",
    ],
  },
  {
    title: "Configure",
    paths: [
      "how-to/catalogue",
      "how-to/timeouts",
      "how-to/organisations",
      "how-to/people",
      "how-to/scim",
      "how-to/keys",
      "how-to/own-keys",
      "how-to/limits",
      "how-to/budgets",
      "how-to/tags",
      "how-to/policies",
      "how-to/settings",
      "how-to/webhooks",
      "how-to/exports",
    ],
  },
  {
    title: "Run",
    paths: [
      "how-to/deploy",
      "how-to/several-nodes",
      "how-to/stores",
      "how-to/secrets",
      "how-to/proxies",
      "how-to/operate",
      "how-to/alerts",
      "how-to/backup",
      "how-to/upgrade",
      "how-to/citus",
    ],
  },
  {
    title: "Look up",
    paths: [
      "reference/twp-1",
      "reference/errors",
      "reference/catalogue",
      "reference/prices",
      "reference/dialects",
      "reference/compatible",
      "reference/sdk-methods",
      "reference/sockets",
      "reference/variables",
      "reference/commands",
      "reference/metrics",
      "reference/sizes",
      "reference/twins",
    ],
  },
  {
    title: "Understand",
    paths: [
      "explanation/money",
      "explanation/calls",
      "explanation/failover",
      "explanation/overload",
      "explanation/threat-model",
    ],
  },
]
