/** Variables of the environment that a test sets for a while. */

/** @returns takes them back */
export const withVariables = (variables: Readonly<Record<string, string | undefined>>): (() => void) => {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const)
  const set = (entries: Iterable<readonly [string, string | undefined]>) => {
    for (const [name, value] of entries) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
  set(Object.entries(variables))
  return () => set(before)
}
