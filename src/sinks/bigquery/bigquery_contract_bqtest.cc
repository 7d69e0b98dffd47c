// The contract of row sinks against an emulator of BigQuery.
#include "base/strings.h"
#include "sinks/bigquery/bq_fixture.h"
#include "sinks/rows/contract.h"

namespace kollect::sinks::rows::contract {
namespace {

using bigquery::BigqueryServer;

class BigqueryWorld final : public World {
 public:
  explicit BigqueryWorld(std::size_t parameter_bytes) : parameter_bytes_(parameter_bytes) {}
  std::unique_ptr<Sink> make_sink() override {
    BigqueryOptions options = server_.options(dataset_);
    options.parameter_bytes = parameter_bytes_;
    return make_bigquery_sink(std::move(options));
  }
  Lines ask(const std::string& sql) override { return server_.ask(dataset_, sql); }
  void run(const std::string& sql) override {
    server_.ask(dataset_, base::replace_all(sql, "payload = '", "payload = JSON '"));
  }
  [[nodiscard]] bool history() const override { return false; }
  [[nodiscard]] bool notes_exports() const override { return false; }
  [[nodiscard]] std::string attribute(const std::string& name) const override {
    return "JSON_VALUE(payload, '$.attributes." + name + "')";
  }
  [[nodiscard]] std::string view_attribute(const std::string& column,
                                           const std::string& name) const override {
    return "JSON_VALUE(" + column + ", '$." + name + "')";
  }
  [[nodiscard]] std::string seconds(const std::string& column) const override {
    return "UNIX_SECONDS(" + column + ")";
  }
  [[nodiscard]] std::string moment(int second) const override {
    return "TIMESTAMP_SECONDS(" + std::to_string(kStart + second) + ")";
  }

 private:
  BigqueryServer& server_ = BigqueryServer::shared();
  std::size_t parameter_bytes_;
  std::string dataset_ = server_.make_dataset();
};

// A few rows go as parameter, larger sets by way of a loaded table.
INSTANTIATE_TEST_SUITE_P(Bigquery, RowSinkContract,
                         ::testing::Values(Backend{
                             "bigquery", [] { return std::make_unique<BigqueryWorld>(3000); }}),
                         backend_name);

}  // namespace
}  // namespace kollect::sinks::rows::contract
