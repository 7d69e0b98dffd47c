// Rows of an inventory written as a Parquet file, timed: parquet_load ROWS FILE [TIMES]. Prints
// JSON. Used by scripts/bench/parquet_bench.py.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sinks/columns/encoders.h"

namespace {

namespace base = kollect::base;
namespace columns = kollect::sinks::columns;
using kollect::inventory::RowSet;

RowSet workloads(std::size_t count) {
  RowSet rows;
  for (std::size_t i = 0; i < count; ++i) {
    const auto name = fmt::format("workload-{:07}", i);
    const auto uid = fmt::format("5f1c8a60-{:04x}-4000-8000-{:012x}", i % 65536, i * 7919);
    const auto attributes = fmt::format(
        R"({{"cpu":"{}m","image":"registry.example/team-{}/app-{}:{}.{}","labels":{{"app":"app-{}","tier":"backend"}},)"
        R"("ready":{},"replicas":{},"version":"{}.{}"}})",
        (i * 37) % 4000, i % 40, i % 900, i % 9, i % 31, i % 900, i % 3 == 0 ? "false" : "true",
        i % 8, i % 9, i % 31);
    rows.add({"platform", "workloads", fmt::format("namespace-{:04}", i / 50), name, "apps", "v1",
              "Deployment", uid, attributes});
  }
  rows.seal();
  return rows;
}

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Cost {
  double seconds = 1e9;
  double processor = 1e9;
};

/// The least that one of some runs of `work` took.
template <class Work>
Cost least(int times, const Work& work) {
  Cost out;
  for (int i = 0; i < times; ++i) {
    const auto began = std::chrono::steady_clock::now();
    const auto used = processor_seconds();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    out.seconds = std::min(out.seconds, took.count());
    out.processor = std::min(out.processor, processor_seconds() - used);
  }
  return out;
}

/// A table as a program for columns would have it: all values in memory, column by column.
class Columns {
 public:
  explicit Columns(const columns::Table& table) : table_(table), columns_(table.columns.size()) {
    columns::CellReader reader(table);
    const auto visited =
        table.rows->for_each([&](const kollect::inventory::RowView& row) -> base::Result<> {
          const auto& cells = reader.fill(row);
          for (std::size_t i = 0; i < cells.size(); ++i) add(columns_[i], cells[i]);
          return {};
        });
    if (!visited.has_value()) std::abort();
  }

  void write(const KollectParquetModule& module, std::ofstream& out) const {
    std::vector<KollectParquetColumn> schema;
    for (const auto& column : table_.columns) {
      const bool time = column.type == columns::Type::kTime;
      const bool json = column.type == columns::Type::kJson;
      const bool unique = json || column.name == "uid" || column.name == "name";
      schema.push_back(
          {{column.name.data(), column.name.size()},
           time ? kKollectParquetTime : (json ? kKollectParquetJson : kKollectParquetText),
           column.nullable,
           !unique,
           !json});
    }
    const columns::ParquetSettings defaults;
    const KollectParquetSettings settings{schema.data(), schema.size(), defaults.codec,
                                          defaults.group_rows, defaults.group_bytes};
    KollectParquetError error{};
    const auto take = [](void* self, const char* data, std::size_t size) {
      static_cast<std::ofstream*>(self)->write(data, static_cast<std::streamsize>(size));
      return 0;
    };
    auto* file = module.open(&settings, {&out, take}, &error);
    if (file == nullptr) std::abort();
    std::vector<std::size_t> at(columns_.size());
    const std::size_t rows = table_.rows->size();
    for (std::size_t row = 0; row < rows; row += kStep) {
      const auto count = std::min(kStep, rows - row);
      std::vector<KollectParquetValues> values;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const auto& one = columns_[i];
        const auto present = static_cast<std::size_t>(
            std::count(one.present.begin() + static_cast<std::ptrdiff_t>(row),
                       one.present.begin() + static_cast<std::ptrdiff_t>(row + count), 1));
        values.push_back({table_.columns[i].nullable ? one.present.data() + row : nullptr, present,
                          one.texts.data() + at[i], one.integers.data() + at[i], nullptr, nullptr});
        at[i] += present;
      }
      if (module.add(file, values.data(), count, &error) != 0) std::abort();
    }
    if (module.finish(file, nullptr, nullptr, 0, &error) != 0) std::abort();
  }

 private:
  static constexpr std::size_t kStep = 4096;
  struct Values {
    std::vector<std::int16_t> present;
    std::vector<KollectParquetText> texts;
    std::vector<std::int64_t> integers;
  };

  void add(Values& column, const columns::Cell& cell) {
    column.present.push_back(cell.null ? 0 : 1);
    if (cell.null) return;
    const auto& kept = texts_.emplace_back(cell.text);
    column.texts.push_back({kept.data(), kept.size()});
    column.integers.push_back(cell.integer);
  }

  const columns::Table& table_;
  std::deque<std::string> texts_;
  std::vector<Values> columns_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto rows = workloads(std::strtoull(argv[1], nullptr, 10));
  const int times = argc > 3 ? std::atoi(argv[3]) : 3;
  kollect::sinks::Export exp;
  exp.inventory = {"platform", "workloads"};
  exp.rows = &rows;
  kollect::sinks::objects::Document document;
  document.exp = &exp;
  document.last = rows.size();
  const auto table = columns::table_of(document, {});
  columns::ParquetSettings settings;
  // Beside the program, which is one folder above this one.
  settings.places.push_back(settings.places.front().parent_path());
  const auto module = columns::ParquetModule::load(settings.places);
  if (!module.has_value()) {
    fmt::print(stderr, "{}\n", module.error().message);
    return 1;
  }
  const auto whole = least(times, [&] {
    std::ofstream out(argv[2], std::ios::binary);
    const auto written =
        columns::write_parquet(table, settings, [&](std::string_view piece) -> base::Result<> {
          out << piece;
          return {};
        });
    if (!written.has_value()) std::abort();
  });
  const auto bytes = std::filesystem::file_size(argv[2]);
  const Columns finished(table);
  const auto writer = least(times, [&] {
    std::ofstream out(std::string(argv[2]) + ".writer", std::ios::binary);
    finished.write(module->calls(), out);
  });
  fmt::print(
      "{{\"rows\":{},\"bytes\":{},\"whole\":{{\"seconds\":{},\"processor\":{}}},"
      "\"writer\":{{\"seconds\":{},\"processor\":{}}}}}\n",
      rows.size(), bytes, whole.seconds, whole.processor, writer.seconds, writer.processor);
  return 0;
}
