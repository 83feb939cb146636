/** A setting of the environment. */
export function setting(name: string, byDefault?: string): string {
  const value = process.env[name] || byDefault;
  if (value !== undefined) return value;
  console.error(`${name} is not set`);
  process.exit(2);
}
