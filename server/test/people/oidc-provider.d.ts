/** The package has no types. */
declare module 'oidc-provider' {
  // biome-ignore lint/suspicious/noExplicitAny: tests use a few of its members
  const Provider: any;
  export default Provider;
}
