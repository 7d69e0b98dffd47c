// For tests of the room: a small fleet.
#pragma once

#include "top/feed.h"
#include "top/picture.h"

namespace kollect::top::testing {

/// 2026-11-29T01:00:00Z
inline base::WallTime now() {
  return *base::parse_rfc3339("2026-11-29T01:00:00Z");
}

inline Picture fleet() {
  Picture picture;
  picture.source = "cluster oslo";
  picture.at = now();
  picture.targets = 2;
  picture.inventories = {{.cluster = "oslo",
                          .ns = "shop",
                          .name = "images",
                          .rows = 1200,
                          .exported_at = "2026-11-29T00:59:30Z",
                          .state = "Ready",
                          .reason = "Exported",
                          .message = "all sinks are in step"},
                         {.cluster = "rome",
                          .ns = "pay",
                          .name = "all",
                          .rows = 7,
                          .exported_at = "2026-11-28T20:00:00Z",
                          .state = "Degraded",
                          .reason = "ExportFailed",
                          .message = "database/pg: connection refused: nobody listens there"},
                         {.cluster = "oslo",
                          .ns = "",
                          .name = "rollup",
                          .rows = 90,
                          .exported_at = "",
                          .state = "Waiting",
                          .reason = "Progressing",
                          .message = ""}};
  picture.sinks = {{.name = "database/pay/pg",
                    .type = "postgres",
                    .inventory = "pay/all",
                    .state = "Failed",
                    .reason = "ExportFailed",
                    .exported_at = "",
                    .message = "connection refused"},
                   {.name = "snapshot/shop/git",
                    .type = "git",
                    .inventory = "shop/images",
                    .state = "Ready",
                    .reason = "Exported",
                    .exported_at = "2026-11-29T00:59:30Z",
                    .message = ""}};
  picture.problems = {{.kind = "KollectTarget",
                       .ns = "shop",
                       .name = "late",
                       .reason = "Unseen",
                       .message = "",
                       .since = ""},
                      {.kind = "KollectInventory",
                       .ns = "pay",
                       .name = "all",
                       .reason = "ExportFailed",
                       .message = "connection refused",
                       .since = "2026-11-28T20:10:00Z"}};
  finish(picture);
  return picture;
}

}  // namespace kollect::top::testing
