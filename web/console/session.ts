/** Who is signed in. The secret is in the service and, where no script can read it, in a cookie. */
export type Session = { key_id: string; name: string; expires_at: number };
