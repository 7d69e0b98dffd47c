// The rows of a table as a source of the read API, the same over both databases.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "readapi/source.h"
#include "readstore/book.h"
#include "readstore/columns.h"
#include "readstore/pages.h"
#include "readstore/session.h"

namespace kollect::readstore {

/// See readapi::Source. What is kept between calls (tally, counts) belongs to one state of the
/// exports and is made anew for the inventories that changed.
class TableSource final : public readapi::Source {
 public:
  explicit TableSource(std::unique_ptr<Place> place, PageLimits limits = {});
  ~TableSource() override;

  [[nodiscard]] readapi::Abilities abilities() const override;
  base::Result<std::unique_ptr<readapi::RowCursor>> rows(
      const base::Context& context, const readapi::RowRequest& request) override;
  base::Result<std::vector<readapi::Group>> groups(const base::Context& context,
                                                   const readapi::GroupRequest& request) override;
  base::Result<std::vector<readapi::InventoryState>> inventories(
      const base::Context& context, const readapi::Sight& sight) override;
  base::Result<readapi::ChangePage> changes(const base::Context& context,
                                            const readapi::ChangeRequest& request) override;
  base::Result<std::vector<readapi::RowVersion>> versions(const base::Context& context,
                                                          const readapi::RowFilter& object,
                                                          const readapi::Sight& sight) override;
  base::Result<std::string> state(const base::Context& context) override;

  /// Looks at the tables and makes the tally. Error: as those of requests.
  base::Result<> prepare(const base::Context& context);

 private:
  std::unique_ptr<Place> place_;
  PageLimits limits_;
  TallyBook book_;
  CountCache counts_;
  std::atomic<bool> history_ = false;  ///< as the last session saw it
};

}  // namespace kollect::readstore
