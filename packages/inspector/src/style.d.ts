declare module "*.css";
declare module "*?worker&url" {
  const address: string;
  export default address;
}
declare module "*?sharedworker&url" {
  const address: string;
  export default address;
}
