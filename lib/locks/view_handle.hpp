// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "view_reader.hpp"

#include "engine/core.hpp"

#include <chrono>
#include <memory>

namespace tenure::locks
{

/** The shared state of the copies of a view: the reads end with the last copy. It keeps the store open. */
class ViewHandle
{
public:
    /** Begins to read. @throws std::invalid_argument naming the field `where` and the rule for `refresh` */
    ViewHandle(
        std::shared_ptr<engine::Handle> store, KeyRangePtr range, char const* where, std::chrono::milliseconds refresh,
        ViewCache::Same same);
    ViewHandle(ViewHandle const&) = delete;
    ViewHandle& operator=(ViewHandle const&) = delete;
    ~ViewHandle();

    [[nodiscard]] ViewReader& reader() const noexcept { return *reader_; }
    [[nodiscard]] Runtime const& runtime() const noexcept { return *store_->core()->runtime(); }

private:
    std::shared_ptr<engine::Handle> store_;
    std::shared_ptr<ViewReader> reader_;
};

} // namespace tenure::locks
