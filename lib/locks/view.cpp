// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// View: forwards to a ViewReader.
#include <tenure/view.hpp>

#include "view_reader.hpp"

#include "engine/completion.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tenure
{

namespace
{

bool looks_the_same(KeyState const& left, KeyState const& right)
{
    auto const same_place = [](Place const& one, Place const& other) {
        return one.fencing_token == other.fencing_token && one.holds == other.holds && one.owner == other.owner;
    };
    return left.kind == right.kind && left.owner == right.owner &&
           std::ranges::equal(left.places, right.places, same_place);
}

KeyRangePtr checked(KeyRangePtr range)
{
    if (range == nullptr)
        throw std::invalid_argument("View: the range is null: it must name at least one key");
    check_key("View: the range's prefix", range->prefix);
    if (range->count == 0)
        throw std::invalid_argument("View: the range has 0 keys: it must name at least one key");
    return range;
}

} // namespace

View::View(Store store, KeyRangePtr range, ViewOptions options)
    : handle_(std::make_shared<locks::ViewHandle>(
          store.handle_, checked(std::move(range)), "ViewOptions", options.refresh, &looks_the_same))
{
}

asio::any_io_executor const& View::executor_of(HandlePtr const& handle) noexcept
{
    return handle->runtime().user_executor();
}

KeyRangePtr View::range() const noexcept
{
    return handle_->reader().range();
}

ViewSnapshot View::snapshot() const
{
    return handle_->reader().snapshot();
}

void View::start(
    HandlePtr const& handle, std::uint64_t seen, asio::any_completion_handler<void(error_code, ViewSnapshot)> handler)
{
    engine::Completion<void(error_code, ViewSnapshot)> completion(std::move(handler), &handle->runtime());
    auto const slot = completion.slot();
    handle->reader().wait(
        seen, slot,
        [completion = std::move(completion)](engine::Known known, error_code error, ViewSnapshot&& snapshot) mutable {
            std::move(completion).complete(known, error, std::move(snapshot));
        },
        handle);
}

} // namespace tenure
