// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Lease: forwards to the record of the engine.
#include <tenure/lease.hpp>

#include "engine/core.hpp"
#include "engine/lease_record.hpp"
#include "engine/machines/lease_terms.hpp"
#include "runtime/no_executor.hpp"

#include <tenure/errc.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace tenure
{

namespace
{

void release_in_background(engine::LeaseRecordPtr record) noexcept
{
    try {
        if (auto handle = record->begin_release();
            handle && handle->core()->same_process() && !handle->core()->abandoned()) {
            auto const core = handle->core();
            core->runtime()->post(
                [record = std::move(record), handle = std::move(handle), pending = engine::ReleaseQueue::make_item()] {
                    handle->core()->release(record, pending);
                });
        }
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory: the key expires by its ttl
    }
}

template <class... Results>
[[nodiscard]] engine::Completion<void(Results...)>
completion_of(asio::any_completion_handler<void(Results...)> handler, engine::LeaseRecordPtr const& record)
{
    return {std::move(handler), record ? &record->runtime() : nullptr};
}

/** The store of a lease that is held; null: the call was completed with the reason. */
std::shared_ptr<engine::Handle>
store_of(engine::LeaseRecordPtr const& record, engine::Completion<void(error_code)>& completion)
{
    bool const forked = record && record->forked();
    auto handle = record && !forked ? record->handle() : nullptr;
    if (!handle)
        std::move(completion).complete_at_once(make_error_code(forked ? errc::forked : errc::released));
    return handle;
}

/** Apart from the rare case: a lease is moved several times on its way to its holder, and most that end are empty. */
void end(engine::LeaseRecordPtr& record) noexcept
{
    if (record != nullptr && !record->released())
        release_in_background(std::move(record));
}

} // namespace

void detail::LeaveKey<Lease>::of(Lease& lease) noexcept
try {
    auto const& record = lease.record_;
    if (auto handle = record ? record->begin_release() : nullptr;
        handle && handle->core()->same_process() && !handle->core()->abandoned())
        handle->core()->runtime()->post([record, handle] { handle->core()->leave(*record); });
} catch (...) { // NOLINT(bugprone-empty-catch): out of memory: the lease is renewed until it is destroyed
}

Lease::Lease() noexcept = default;

Lease::Lease(std::shared_ptr<engine::LeaseRecord> record) noexcept
    : record_(std::move(record))
{
}

Lease::Lease(Lease&& other) noexcept = default;

Lease& Lease::operator=(Lease&& other) noexcept
{
    if (this != &other) {
        end(record_);
        record_ = std::move(other.record_);
    }
    return *this;
}

Lease::~Lease()
{
    end(record_);
}

bool Lease::valid() const noexcept
{
    return record_ && record_->valid();
}

LeaseState Lease::state() const noexcept
{
    return record_ ? record_->state() : LeaseState::released;
}

Instant Lease::valid_until() const noexcept
{
    return record_ ? record_->valid_until() : Instant{};
}

Instant Lease::stop_at() const noexcept
{
    return record_ ? record_->token().fires_at() : Instant{};
}

std::chrono::milliseconds Lease::ttl() const noexcept
{
    return record_ ? record_->ttl() : std::chrono::milliseconds{0};
}

std::string const& Lease::key() const noexcept
{
    static std::string const none;
    return record_ ? record_->key() : none;
}

std::string const& Lease::owner() const noexcept
{
    static std::string const none;
    return record_ ? record_->claim().owner : none;
}

std::uint64_t Lease::fencing_token() const
{
    if (!has_fencing_token())
        throw std::logic_error(
            record_ ? "tenure::Lease::fencing_token(): the lease on " + record_->key() +
                          " has no fencing token, because LeaseOptions::fencing is false"
                    : "tenure::Lease::fencing_token(): this object holds no lease (it was moved from, or "
                      "default-constructed), so there is no token to use");
    return record_->claim().fencing_token;
}

bool Lease::has_fencing_token() const noexcept
{
    return record_ && record_->claim().fencing_token != 0;
}

CancellationToken Lease::token() const noexcept
{
    if (!record_)
        return {};
    return CancellationToken(std::shared_ptr<engine::TokenState>(record_, &record_->token()));
}

Lease::executor_type Lease::get_executor() const noexcept
{
    return executor_of(record_);
}

asio::any_io_executor const& Lease::executor_of(RecordPtr const& record) noexcept
{
    return record ? record->runtime().user_executor() : no_executor();
}

void Lease::start_release(RecordPtr record, ReleaseHandler handler)
{
    auto completion = completion_of(std::move(handler), record);
    if (!record) {
        std::move(completion).complete_at_once(make_error_code(errc::released), ReleaseOutcome::was_lost);
        return;
    }
    auto const& runtime = record->shared_runtime();
    if (record->forked()) {
        std::move(completion).complete_at_once(make_error_code(errc::forked), ReleaseOutcome::unconfirmed);
        return;
    }
    using PendingRelease = engine::ReleaseQueue::PendingRelease;
    auto pending = PendingRelease::start<PendingRelease>(std::move(completion), runtime, detail::partial_cancellation);
    auto handle = record->begin_release();
    if (!handle) {
        pending->complete_at_once(make_error_code(errc::released), ReleaseOutcome::was_lost);
        return;
    }
    auto const& strand = runtime->strand();
    strand.execute([record = std::move(record), handle = std::move(handle), pending = std::move(pending)] {
        handle->core()->release(record, pending);
    });
}

void Lease::start_detach(RecordPtr record, std::optional<std::chrono::milliseconds> remaining, WaitHandler handler)
{
    auto completion = completion_of(std::move(handler), record);
    auto handle = store_of(record, completion);
    if (!handle)
        return;
    auto const core = handle->core();
    if (auto const refusal = engine::refuse_detachment(core->capabilities(), remaining)) {
        auto const failing = core->store_log().refuse(
            refusal->error, record->key() + " is not detached and stays held: " + refusal->words);
        std::move(completion).complete_at_once(refusal->error);
        return;
    }
    auto call = engine::Call<>::start(std::move(completion), core->runtime(), detail::partial_cancellation);
    // it has begun elsewhere meanwhile, or has not
    handle = record->begin_detachment();
    if (!handle) {
        call->complete_at_once(make_error_code(errc::released));
        return;
    }
    core->runtime()->strand().execute(
        [core, record = std::move(record), handle = std::move(handle),
         remaining = remaining.value_or(std::chrono::milliseconds{0}),
         call = std::move(call)]() mutable { core->detach(record, remaining, std::move(call)); });
}

void Lease::start_renew(RecordPtr record, std::optional<std::chrono::milliseconds> ttl, WaitHandler handler)
{
    auto completion = completion_of(std::move(handler), record);
    auto handle = store_of(record, completion);
    if (!handle)
        return;
    auto const& runtime = record->shared_runtime();
    auto const refusal = ttl ? engine::refuse_ttl(handle->core()->capabilities().ttl, *ttl) : std::nullopt;
    if (refusal) {
        auto const failing =
            handle->core()->store_log().refuse(refusal->error, record->key() + " is not renewed: " + refusal->words);
        std::move(completion).complete_at_once(refusal->error);
        return;
    }
    auto call = engine::Call<>::start(std::move(completion), runtime, detail::partial_cancellation);
    runtime->strand().execute(
        [record = std::move(record), handle = std::move(handle), ttl = ttl.value_or(std::chrono::milliseconds{0}),
         call = std::move(call)]() mutable { handle->core()->keeper().renew(record, ttl, std::move(call)); });
}

void Lease::start_wait_at_risk(RecordPtr record, WaitHandler handler)
{
    auto completion = completion_of(std::move(handler), record);
    if (record)
        engine::LeaseRecord::wait_at_risk(record, std::move(completion));
    else
        std::move(completion).complete_at_once(make_error_code(errc::released));
}

} // namespace tenure
