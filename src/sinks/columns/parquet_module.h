// The module that writes Parquet files (parquet_module/), loaded when the first one is written: who
// writes none pays nothing for Apache Arrow.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/result.h"
#include "parquet_module/abi.h"

namespace kollect::sinks::columns {

class ParquetModule {
 public:
  /// Beside the program, and in lib/kollect beside the program's folder.
  static std::vector<std::filesystem::path> standard_places();

  /// Loads libkollect-parquet.so from the first of these folders that has it; a second call costs
  /// next to nothing. The code stays in the process when the object goes. Errors: configuration,
  /// "parquet-missing", with what to install.
  static base::Result<ParquetModule> load(const std::vector<std::filesystem::path>& places);

  [[nodiscard]] const KollectParquetModule& calls() const { return *calls_; }

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  std::unique_ptr<void, Close> handle_;
  const KollectParquetModule* calls_ = nullptr;
};

}  // namespace kollect::sinks::columns
