declare module "*.css";
declare module "*?worker&url" {
  const address: string;
  export default address;
}
