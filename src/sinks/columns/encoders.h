// Tables as formats of object stores and files.
#pragma once

#include <memory>

#include "sinks/columns/parquet.h"
#include "sinks/objects/encoder.h"

namespace kollect::sinks::columns {

/// The table of a document. `settings` name the hot attributes; none: the usual ones.
Table table_of(const objects::Document& document, const objects::EncoderSettings& settings);

std::shared_ptr<const objects::Encoder> make_csv_encoder(objects::EncoderSettings settings);

/// The module is looked for when the first document is written. Error (configuration): an unknown
/// compression.
base::Result<std::shared_ptr<const objects::Encoder>> make_parquet_encoder(
    objects::EncoderSettings settings, ParquetSettings parquet = {});

}  // namespace kollect::sinks::columns
