// Current rows in a table of BigQuery (spec: sinks 13).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/types.h"
#include "sinks/bigquery/jobs.h"
#include "sinks/google/api.h"
#include "sinks/sink.h"

namespace kollect::sinks {

struct BigqueryOptions {
  google::ApiOptions api;
  bigquery::TableName table;
  /// Table name with {cluster}, {namespace}, {name}; empty: table.table.
  std::string naming_template;
  std::string location;                        ///< of jobs; empty: the dataset's
  bool ensure = true;                          ///< a missing table is created; a dataset never is
  std::int64_t partition_expiration_days = 0;  ///< of a table that is created; 0: never
  bigquery::JobLimits jobs;
  std::size_t parameter_bytes = std::size_t{8} << 20U;  ///< see bigquery::Work
};

/// One row per object in the eight columns of spec sinks 13. A pass that compares reads keys and
/// hashes of the inventory's rows and writes differences by one MERGE, a pass with changes writes
/// these; the number of jobs does not depend on the number of rows. Nothing is streamed in. Memory
/// is some 40 bytes per row and at most parameter_bytes of differences. An operation is one
/// inventory's: exports of one call follow each other.
std::unique_ptr<Sink> make_bigquery_sink(BigqueryOptions options);

/// Options from a sink's spec; `network` is what the endpoint and the token endpoint of a key are
/// asked through. Errors: configuration.
base::Result<BigqueryOptions> bigquery_options(const api::DatabaseSink& sink,
                                               const SecretData& auth,
                                               const std::optional<std::string>& ca_pem,
                                               const google::Environment& environment,
                                               google::Network network);

namespace bigquery {
/// The template with its words replaced; characters that a table's name cannot have become "_".
std::string named_table(std::string_view naming_template, std::string_view cluster,
                        std::string_view ns, std::string_view inventory);
}  // namespace bigquery

}  // namespace kollect::sinks
