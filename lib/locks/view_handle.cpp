// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "view_handle.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/error.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace tenure::locks
{

namespace
{

using std::chrono::milliseconds;

constexpr milliseconds shortest_refresh{100};
constexpr milliseconds longest_refresh{std::chrono::hours{1}};

} // namespace

ViewHandle::ViewHandle(
    std::shared_ptr<engine::Handle> store, KeyRangePtr range, char const* where, milliseconds refresh,
    ViewCache::Same same)
    : store_(std::move(store))
{
    if (refresh < shortest_refresh || refresh > longest_refresh)
        throw std::invalid_argument(
            std::string(where) + "::refresh is " + std::to_string(refresh.count()) + " ms: must be from " +
            std::to_string(shortest_refresh.count()) + " ms to " + std::to_string(longest_refresh.count()) + " ms");
    auto const& core = store_->core();
    reader_ = std::make_shared<ViewReader>(core->runtime(), std::move(range), refresh, same);
    if (core->same_process())
        core->runtime()->strand().execute([reader = reader_, core] { reader->begin(core); });
    else
        reader_->end(make_error_code(errc::forked));
}

ViewHandle::~ViewHandle()
{
    auto const& core = *store_->core();
    if (reader_->forked() || reader_->over() || core.abandoned())
        return;
    try {
        core.runtime()->strand().execute([reader = reader_] { reader->end(asio::error::operation_aborted); });
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory: it reads on until the store closes
    }
}

} // namespace tenure::locks
