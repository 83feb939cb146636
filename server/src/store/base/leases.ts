/** Leases and locks are rows of a table, since distributed engines have no advisory locks. */

/** Changes a row if the lease was acquired or renewed. Parameters: name, holder, expires_at, now. */
export const takeLease = `
  INSERT INTO leases (name, holder, expires_at) VALUES (?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
  WHERE leases.expires_at < ? OR leases.holder = excluded.holder`;

/** One transaction has it at a time: the row stays locked until its end. */
export const lockOf = (name: 'erasure' | 'import' | 'user totals'): string => `
  INSERT INTO leases (name, holder, expires_at) VALUES ('${name}', '', 0)
  ON CONFLICT (name) DO UPDATE SET expires_at = leases.expires_at + 1`;
