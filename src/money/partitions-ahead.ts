/** The time ahead for which partitions are made. It has a file of its own, for a test's database that begins with them. */

/** Days, so that an outage of a night leaves no gap. */
export const aheadDays = 3
/** The same for the hours of replies. */
export const aheadHours = 12
